/* The fixed-point iteration that finds a method's posterior at given parameters, and the slopes of its evidence:
   inference/fixed_point.py and evidence.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

Library lib;
Tables tables;

static double one = 1;
static int unit = 1;
/* of inference/fixed_point.py and site_updates.py */
static const double SHORTEN = .6, SHORTEST = .05, LENGTHEN = 1.15, TURNED = .7, CUT = .8, REGULAR = .1, NEAR = 1e-4,
                    ASTRAY = 10;
static const double STEEPEST = 1e8, RIDGE = 1e-10;
enum { PATIENCE = 50, LONG_PATIENCE = 100, SHORT_PATIENCE = 10 };
enum { FEW = 100 }; /* columns */

void setup(const Library *library, const Tables *found)
{
    lib = *library;
    tables = *found;
}

/* What an iteration works with; rows whose sites are sought come after those whose sites are known. */
typedef struct {
    Evaluation *e;
    int from, sought;
    Sums known, found;
    double yy, D;             /* of the rows whose sites are known, y' Lambda y and D if the mean met every value */
    double *inverse, *buffer, *white, *mean, *v, *scratch;
    double *A, *own, *d;      /* features of some rows that are not kept */
    double *step, *last;      /* (2, sought), both natural parameters */
    double *back;             /* where an ascent last gained, and its step; (4, sought) */
    double *point, *dX, *dG;  /* of Anderson's method: standardised, (2 sought,), and MEMORY differences of each */
    double *point_step;
    int remembered, newest;
    double log_det;
    int filled;               /* whether a root stands for the columns */
    Structured beside;        /* where there is a chain */
} Iteration;

static double *slice(double **memory, long size)
{
    double *out = *memory;
    *memory += size;
    return out;
}

static double quadratic(const Iteration *s)
{
    const Evaluation *e = s->e;
    double sum = 0;
    if (e->chain)
        return s->beside.quadratic;
    long size = e->p + (long)(e->m ? e->rows->groups : 0) * e->m;
    for (long k = 0; k < size; k++)
        sum += e->w[k] * e->w[k];
    return sum;
}

/* At most BLOCK rows from one on, before another, with their features, beside a chain A~. */
static Part rows_from(const Iteration *s, int from, int to)
{
    const Evaluation *e = s->e;
    Part part = {from, to - from < BLOCK ? to - from : BLOCK, s->A, s->own};
    if (e->chain) {
        part.A = s->beside.A + (long)from * e->p;
    } else if (from >= e->stored) {
        part.A = e->A + (long)(from - e->stored) * e->p;
        part.own = e->own + (long)(from - e->stored) * e->m;
    } else {
        fill_rows(e, from, part.count, s->A, s->own, s->d, s->scratch);
    }
    return part;
}

/* As whiten_rows, with what a chain adds. */
static void meet_part(const Iteration *s, const Part *part, double *corner, double *own, double *v, double *mean)
{
    whiten_rows(s->e, s->inverse, part, corner, own, v, mean);
    if (s->e->chain)
        add_chain(&s->beside, s->e, part->from, part->count, mean, v);
}

static int refresh_posterior(Iteration *s)
{
    if (s->e->chain)
        return find_structured(&s->beside, s->e, s->from, &s->known, &s->found, s->inverse, &s->log_det, s->buffer,
                               s->scratch);
    clear_sums(&s->found, s->found.B, s->e);
    for (int from = s->from; from < s->e->rows->n; from += BLOCK) {
        Part part = rows_from(s, from, s->e->rows->n);
        add_rows(&s->found, s->e, &part, s->buffer);
    }
    return find_posterior(s->e, &s->known, &s->found, s->inverse, &s->log_det, s->scratch);
}

/* Features of all rows, and the sites and sums of those whose sites are known. */
static void meet_rows(Iteration *s)
{
    Evaluation *e = s->e;
    for (int from = 0; from < e->rows->n;) {
        int to = from < s->from ? s->from : e->rows->n, known = from < s->from;
        Part part = {from, to - from < BLOCK ? to - from : BLOCK, s->A, s->own};
        if (from >= e->stored) {
            part.A = e->A + (long)(from - e->stored) * e->p;
            part.own = e->own + (long)(from - e->stored) * e->m;
        }
        if (!s->filled)
            fill_rows(e, from, part.count, (double *)part.A, (double *)part.own, e->d + from, s->scratch);
        for (int i = from; known && i < from + part.count; i++) {
            known_site(e, i);
            s->yy += e->lambda1[i] * e->rows->limit[i];
            s->D += known_part(e, i, e->rows->limit[i]);
        }
        if (known && e->chain)
            add_known_rows(&s->beside, e, from, from + part.count);
        else if (known)
            add_rows(&s->known, e, &part, s->buffer);
        from += part.count;
    }
}

/* D of the rows whose sites are known: it lacks the misfit, which needs no visit to them. */
static double known_evidence(const Iteration *s)
{
    const Evaluation *e = s->e;
    int p = e->p, m = e->m, groups = m ? e->rows->groups : 0;
    double linear = 0, square = 0, D = 0;
    if (e->chain) {
        for (int i = 0; i < s->from; i++)
            D += known_part(e, i, s->beside.mean[i]);
        return D;
    }
    for (int j = 0; j < p; j++) {
        linear += s->known.r[j] * e->w[j];
        square += s->known.B[j + (long)j * p] * e->w[j] * e->w[j];
        for (int i = j + 1; i < p; i++)
            square += 2 * s->known.B[i + (long)j * p] * e->w[i] * e->w[j];
    }
    for (long k = 0; k < (long)groups * m; k++) {
        const double *B = s->known.B_own + k * (m + p), *w = e->w + p + k / m * m;
        linear += s->known.r_own[k] * e->w[p + k];
        for (int j = 0; j < m; j++)
            square += B[j] * w[j] * e->w[p + k];
        for (int j = 0; j < p; j++)
            square += 2 * B[m + j] * e->w[j] * e->w[p + k];
    }
    return s->D - .5 * (s->yy - 2 * linear + square);
}

/* What some rows say of the step from their sites to the method's, and of the step before. */
typedef struct {
    double squares, D; /* squared standardised changes (SIT10) */
    double dots[6];    /* of both natural parameters: products of this step with the last, and of each with itself */
} Change;

/* Find the steps of some rows, one parameter's and the other's, from means and variances of f. */
static void find_steps(Evaluation *e, const Part *part, int want_D, const double *mean, const double *v,
                       const double *last[2], double *step[2], Change *sums)
{
    for (int k = 0; k < part->count; k++) {
        int i = part->from + k;
        Update u = update_site(e, i, mean[k], v[k], want_D);
        double g[2] = {u.lambda1 - e->lambda1[i], u.lambda2 - e->lambda2[i]}, scale = e->sigma / e->rows->weight[i];
        double location = (g[0] - g[1] * mean[k]) * scale, size = g[1] * scale * e->sigma;
        double held = larger(isfinite(size) ? fabs(size) / STEEPEST : 1 / STEEPEST, 1);
        sums->squares += location * location + size * size;
        sums->D += u.D;
        for (int j = 0; j < 2; j++) {
            double now = g[j] / held, before = last[j][k], *dots = sums->dots + 3 * j;
            step[j][k] = now;
            dots[0] += now * before, dots[1] += now * now, dots[2] += before * before;
        }
    }
}

/* The steps of all rows whose sites are sought, and the sum of cosines with the last ones. */
static Change visit(Iteration *s, int want_D, double *cosines)
{
    Evaluation *e = s->e;
    Change found = {0};
    double *old = s->last;
    s->last = s->step;
    s->step = old;
    for (int from = s->from; from < e->rows->n; from += BLOCK) {
        Part part = rows_from(s, from, e->rows->n);
        int k = from - s->from;
        const double *last[2] = {s->last + k, s->last + s->sought + k};
        double *step[2] = {s->step + k, s->step + s->sought + k};
        meet_part(s, &part, s->buffer, s->white, s->v + from, s->mean + from);
        find_steps(e, &part, want_D, s->mean + from, s->v + from, last, step, &found);
    }
    *cosines = 0;
    for (const double *dots = found.dots; dots < found.dots + 6; dots += 3)
        if (dots[1] * dots[2] > 0)
            *cosines += dots[0] / sqrt(dots[1] * dots[2]);
    return found;
}

/* Sites a part of the way along a step from the point given. */
static void take_step(Iteration *s, const double *from, const double *step, double rho)
{
    for (int k = 0; k < s->sought; k++) {
        s->e->lambda1[s->from + k] = from[k] + rho * step[k];
        s->e->lambda2[s->from + k] = from[s->sought + k] + rho * step[s->sought + k];
    }
}

static void copy_sites(const Iteration *s, double *out)
{
    memcpy(out, s->e->lambda1 + s->from, sizeof(double) * s->sought);
    memcpy(out + s->sought, s->e->lambda2 + s->from, sizeof(double) * s->sought);
}

/* Anderson's method, numerics/linear_algebra.py: remember this point and its step, and their differences to the last. */
static void remember(Iteration *s, int first)
{
    int n = 2 * s->sought;
    double sigma = s->e->sigma;
    s->newest = first ? s->newest : (s->newest + 1) % MEMORY;
    double *dX = s->dX + (long)s->newest * n, *dG = s->dG + (long)s->newest * n;
    for (int k = 0; k < n; k++) {
        int i = s->from + k % s->sought;
        double unit_ = k < s->sought ? sigma : sigma * sigma;
        double x = unit_ * (k < s->sought ? s->e->lambda1[i] : s->e->lambda2[i]), g = unit_ * s->step[k];
        if (!first) {
            dX[k] = x - s->point[k];
            dG[k] = g - s->point_step[k];
        }
        s->point[k] = x;
        s->point_step[k] = g;
    }
    if (!first && s->remembered < MEMORY)
        s->remembered++;
}

/* The next point from all that is remembered; 0 where the equations have no solution. */
static int mix(Iteration *s, double rho, double floor)
{
    int n = 2 * s->sought, k = s->remembered, rank, info, size = 20 * MEMORY, columns[MEMORY];
    double gram[MEMORY * MEMORY], gamma[MEMORY], values[MEMORY], work[20 * MEMORY], rcond = 1e-14, sigma = s->e->sigma;
    for (int a = 0; a < k; a++)
        columns[a] = (s->newest - a + MEMORY) % MEMORY;
    for (int a = 0; a < k; a++) {
        const double *G = s->dG + (long)columns[a] * n;
        gamma[a] = dot(n, G, s->point_step);
        for (int b = 0; b <= a; b++) {
            double sum = dot(n, G, s->dG + (long)columns[b] * n);
            gram[a + b * k] = gram[b + a * k] = a == b ? sum * (1 + RIDGE) : sum;
            if (!isfinite(sum))
                return 0;
        }
        if (!isfinite(gamma[a]))
            return 0;
    }
    lib.dgelss(&k, &k, &unit, gram, &k, gamma, &k, values, &rcond, &rank, work, &size, &info);
    if (info)
        return 0;
    for (int i = 0; i < n; i++) {
        double x = s->point[i] + rho * s->point_step[i];
        for (int a = 0; a < k; a++)
            x -= gamma[a] * (s->dX[(long)columns[a] * n + i] + rho * s->dG[(long)columns[a] * n + i]);
        if (i < s->sought)
            s->e->lambda1[s->from + i] = x / sigma;
        else
            s->e->lambda2[s->from + i - s->sought] = larger(x, floor) / (sigma * sigma);
    }
    return 1;
}

static double slack(double merit)
{
    return isfinite(merit) ? 1e-10 * larger(1, fabs(merit)) : 0;
}

/* Iterate to the fixed point, damped and accelerated; 0 where the computation breaks down. */
static int iterate(Iteration *s)
{
    Evaluation *e = s->e;
    int ascends = e->method != EP, accelerated = e->method != LAPLACE, idle = 0, mixed = 0;
    double rho = e->damping, longest = 1, merit = -INFINITY, residual = INFINITY, least = INFINITY;
    double progress = INFINITY, highest = -INFINITY, D = 0, cosines;
    int done;
    e->converged = 1;
    e->residual = e->iterations = 0;
    for (int iteration = 1; s->sought; iteration++) {
        Change found = visit(s, ascends || e->noise.distribution != NORMAL, &cosines);
        if (e->failed)
            return 0;
        double gap = sqrt(found.squares / s->sought), value = -INFINITY;
        D = found.D;
        e->residual = gap, e->iterations = iteration, e->converged = gap < e->tol;
        if (e->converged || iteration == e->max_iterations)
            break;
        if (ascends)
            value = D + known_evidence(s) - .5 * quadratic(s) - (e->method == VI ? .5 * s->log_det : 0);
        int nearer = gap < progress, higher = value > highest + slack(highest), near = ascends && gap < NEAR;
        progress = nearer ? .5 * gap : progress;
        highest = larger(highest, value);
        idle = nearer || higher ? 0 : idle + 1;
        if (idle >= (near ? SHORT_PATIENCE : ascends ? PATIENCE : LONG_PATIENCE)) {
            e->converged = near;
            break;
        }
        /* What ascends must not fall, and an accelerated step of EP not lead astray. */
        if (ascends ? value < merit - slack(merit) : mixed && gap > ASTRAY * residual) {
            rho = mixed ? rho : SHORTEN * rho;
            take_step(s, s->back, s->back + 2 * s->sought, rho);
            mixed = 0;
            if (!refresh_posterior(s))
                return 0;
            continue;
        }
        int turned = !ascends && gap > TURNED * residual && cosines < 0;
        if (!ascends && gap > residual)
            longest = larger(CUT * rho, SHORTEST);
        if (!ascends && (gap > residual || turned))
            rho = larger(SHORTEN * rho, SHORTEST);
        rho = gap < residual && !turned ? smaller(longest, rho * LENGTHEN) : rho;
        if (accelerated)
            remember(s, isinf(residual));
        mixed = accelerated && s->remembered && (ascends || gap < smaller(least, REGULAR));
        merit = value, residual = gap, least = smaller(gap, least);
        copy_sites(s, s->back);
        memcpy(s->back + 2 * s->sought, s->step, sizeof(double) * 2 * s->sought);
        if (mixed) {
            if (!mix(s, ascends ? rho : 1, e->noise.log_concave ? 0 : -INFINITY))
                return 0;
        } else {
            s->remembered = 0;
            take_step(s, s->back, s->step, rho);
        }
        /* Sites of negative precision may leave no posterior; a shorter step does. */
        for (done = refresh_posterior(s); !done && !e->noise.log_concave && rho > pow(SHORTEST, 6); mixed = 0) {
            rho *= SHORTEN;
            take_step(s, s->back, s->step, rho);
            done = refresh_posterior(s);
        }
        if (!done)
            return 0;
    }
    if (!ascends && e->noise.distribution == NORMAL) { /* whose logarithms were left out */
        D = 0;
        for (int i = s->from; i < e->rows->n; i++)
            D += update_site(e, i, s->mean[i], s->v[i], 1).D;
    }
    int visited = e->stored == 0 && !e->chain; /* as sums lose digits where the noise is small */
    for (int from = 0; from < s->from && visited; from += BLOCK) {
        Part part = rows_from(s, from, s->from);
        for (int i = 0; i < part.count; i++) {
            double mean = dot(e->p, part.A + (long)i * e->p, e->w);
            if (e->m)
                mean += dot(e->m, part.own + (long)i * e->m, e->w + e->p + (long)e->rows->code[from + i] * e->m);
            D += known_part(e, from + i, mean);
        }
    }
    if (!visited)
        D += known_evidence(s);
    e->evidence = D - .5 * quadratic(s) - .5 * s->log_det;
    return 1;
}

/* Sums of slopes over all rows, from dF/dA = alpha w' - diag(lambda2) A S at fixed d (SIT9), and those in the noise.

   implicit, (M,): q of Laplace's method, or NULL. */
VECTORISED static void row_slopes(Iteration *s, const double *implicit, double *sums, double in_noise[2])
{
    Evaluation *e = s->e;
    int p = e->p, m = e->m;
    double g_d[BLOCK], v[BLOCK], mean[BLOCK], *G = s->buffer, *G_own = s->white;
    for (int from = 0; from < e->rows->n;) {
        Part part = rows_from(s, from, from < s->from ? s->from : e->rows->n);
        int count = part.count;
        meet_part(s, &part, G, G_own, v, mean);
        if (p)
            lib.dtrmm("L", "L", "T", "N", &p, &count, &one, s->inverse, &p, G, &p);
        for (int k = 0; k < count; k++) {
            int i = from + k;
            const double *a = part.A + (long)k * p, *own = part.own + (long)k * m;
            long group = m ? (long)e->rows->code[i] : 0;
            const double *T = e->T + group * m * m, *U = e->U + group * m * p, *w = e->w + p + group * m;
            const double *q = implicit ? implicit + p + group * m : w;
            double lambda2 = e->lambda2[i], alpha = e->lambda1[i] - lambda2 * mean[k], moved = 0;
            double *g = G + (long)k * p, *g_own = G_own + (long)k * m;
            Slope x = site_slopes(e, i, mean[k], v[k]);
            g_d[k] = x.g_d;
            if (implicit)
                moved = dot(p, a, implicit) + dot(m, own, q) + (e->chain ? s->beside.moved[e->knot[i]] : 0);
            for (int l = 0; l < 2; l++)
                in_noise[l] += x.e[l] + x.e_m[l] * moved;
            double along = x.u - lambda2 * moved;
            for (int l = 0; l < m; l++)
                g_own[l] -= dot(p, U + l * p, g);
            for (int j = 0; j < m; j++) { /* times T, in place: what lies before is done with */
                double sum = 0;
                for (int l = j; l < m; l++)
                    sum += g_own[l] * T[l * m + j];
                g_own[j] = alpha * w[j] - lambda2 * sum + (implicit ? alpha * q[j] + along * w[j] : 0);
            }
            for (int j = 0; j < p; j++)
                g[j] = alpha * e->w[j] - lambda2 * g[j] + (implicit ? alpha * implicit[j] + along * e->w[j] : 0);
        }
        if (e->chain)
            part.A = e->A + (long)from * p;
        add_slopes(e, &part, G, G_own, g_d, sums, s->scratch);
        if (e->G) {
            memcpy(e->G + (long)from * p, G, sizeof(double) * count * p);
            memcpy(e->G_own + (long)from * m, G_own, sizeof(double) * count * m);
            memcpy(e->g_d + from, g_d, sizeof(double) * count);
        }
        from += count;
    }
}

/* w w' + S - I of the common columns, (p, p), of which the lower triangle counts; with Laplace's q, w q' + q w' too. */
static void fill_between(const Iteration *s, const double *q, double *out)
{
    const Evaluation *e = s->e;
    int p = e->p;
    double zero = 0;
    if (p)
        lib.dsyrk("L", "T", &p, &p, &one, s->inverse, &p, &zero, out, &p);
    for (int j = 0; j < p; j++) {
        out[j + (long)j * p] -= 1;
        for (int i = j; i < p; i++) {
            double moved = q ? e->w[i] * q[j] + q[i] * e->w[j] : 0;
            out[i + (long)j * p] += e->w[i] * e->w[j] + moved;
        }
    }
}

/* How the evidence feels the mode move, q = B^-1 A' u (LA5); out (M,). */
static void implicit_weights(Iteration *s, double *out)
{
    Evaluation *e = s->e;
    int p = e->p, m = e->m, groups = m ? e->rows->groups : 0;
    memset(out, 0, sizeof(double) * (p + (long)groups * m));
    if (e->chain)
        memset(s->beside.implicit, 0, sizeof(double) * e->chain->knots);
    for (int from = s->from; from < e->rows->n; from += BLOCK) {
        Part part = rows_from(s, from, e->rows->n);
        meet_part(s, &part, s->buffer, s->white, s->v, s->mean);
        for (int k = 0; k < part.count; k++) {
            double u = site_slopes(e, from + k, s->mean[k], s->v[k]).u;
            if (e->chain)
                s->beside.implicit[e->knot[from + k]] += u;
            for (int j = 0; j < p; j++)
                out[j] += u * part.A[(long)k * p + j];
            for (int j = 0; j < m; j++)
                out[p + (long)e->rows->code[from + k] * m + j] += u * part.own[(long)k * m + j];
        }
    }
    solve_arrow(e, s->inverse, out, s->scratch);
    if (e->chain)
        move_chain(&s->beside, e, out);
}

/* The gradient where a root (n, p) stands for the columns A (n, columns): dF/dA = alpha w' - R0 A with w = A' alpha and
   R0 = Lambda - Lambda V Lambda, (FEA16). 0 without memory. */
static int joined_slopes(Iteration *s, double *A, int columns, double *sums, double in_noise[2])
{
    Evaluation *e = s->e;
    int n = e->rows->n, p = e->p;
    double zero = 0, *memory = malloc(sizeof(double) * ((long)n * (n + p + columns + 2) + columns * (columns + 1l)));
    if (!memory)
        return 0;
    double *at = memory, *R0 = slice(&at, (long)n * n), *white = slice(&at, (long)n * p), *G = slice(&at, (long)n * columns);
    double *alpha = slice(&at, n), *g_d = slice(&at, n), *w = slice(&at, columns), *between = at;
    for (int from = 0; from < n; from += BLOCK) {
        Part part = rows_from(s, from, n);
        meet_part(s, &part, white + (long)from * p, NULL, s->v, s->mean);
        for (int k = 0; k < part.count; k++) {
            Slope x = site_slopes(e, from + k, s->mean[k], s->v[k]);
            g_d[from + k] = x.g_d;
            alpha[from + k] = e->lambda1[from + k] - e->lambda2[from + k] * s->mean[k];
            for (int l = 0; l < 2; l++)
                in_noise[l] += x.e[l];
        }
    }
    lib.dsyrk("L", "T", &n, &p, &one, white, &p, &zero, R0, &n);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double less = e->lambda2[i] * R0[i + (long)j * n] * e->lambda2[j];
            R0[i + (long)j * n] = R0[j + (long)i * n] = (i == j ? e->lambda2[i] : 0) - less;
        }
    e->A = A;
    e->p = columns;
    lib.dgemv("N", &columns, &n, &one, A, &columns, alpha, &unit, &zero, w, &unit);
    lib.dgemm("N", "N", &columns, &n, &n, &one, A, &columns, R0, &n, &zero, G, &columns);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < columns; j++)
            G[(long)i * columns + j] = alpha[i] * w[j] - G[(long)i * columns + j];
    for (int t = 0; t < e->n_blocks; t++) { /* A' G, which is w w' + S - I */
        int r = e->blocks[t].kept;
        long first = e->blocks[t].first;
        if (e->blocks[t].kind == COLUMNS)
            continue;
        lib.dgemm("N", "T", &r, &r, &n, &one, A + first, &columns, G + first, &columns, &zero,
                  between + first + first * columns, &columns);
    }
    for (int from = 0; from < n; from += BLOCK) {
        Part part = {from, n - from < BLOCK ? n - from : BLOCK, A + (long)from * columns, NULL};
        add_slopes(e, &part, G + (long)from * columns, NULL, g_d + from, sums, s->scratch);
    }
    if (e->G) {
        memcpy(e->G, G, sizeof(double) * n * columns);
        memcpy(e->g_d, g_d, sizeof(double) * n);
    }
    finish_slopes(e, between, sums, s->scratch);
    free(memory);
    return 1;
}

/* The gradient at the fixed point; 0 without memory. */
static int find_slopes(Iteration *s, double *A, int columns, double *implicit, double *by_rows)
{
    Evaluation *e = s->e;
    double in_noise[2] = {0, 0};
    if (s->filled) {
        if (!joined_slopes(s, A, columns, by_rows, in_noise))
            return 0;
    } else {
        const double *q = e->method == LAPLACE ? implicit : NULL;
        if (q)
            implicit_weights(s, implicit);
        row_slopes(s, q, by_rows, in_noise);
        fill_between(s, q, s->known.B); /* in the place of sums that are not needed again */
        finish_slopes(e, s->known.B, by_rows, s->scratch);
        if (e->chain)
            slope_structured(&s->beside, e, q != NULL, s->inverse);
    }
    if (e->noise.free_shape)
        e->gradient[e->slopes] = in_noise[1];
    e->gradient[e->slopes + e->noise.free_shape] = in_noise[0];
    return 1;
}

/* One evaluation: 1; 0 where the computation breaks down; -1 without memory. */
int evaluate(Evaluation *e)
{
    double *first = malloc(sizeof(double) * (scratch_size(e) + 1)), *A = e->A, *root = NULL;
    if (!first)
        return -1;
    int done = fix_blocks(e, first), n = e->rows->n, columns = e->p;
    e->failed = 0;
    /* Of more columns than rows only the covariance matters, but to Laplace's slopes. Of few it saves less than their
       posterior takes afterwards. */
    int joined = columns > n && columns > FEW && !e->m && !e->stored && !e->chain && (e->method != LAPLACE || e->slopes < 0);
    if (done && joined) {
        root = malloc(sizeof(double) * n * n);
        done = root ? join_columns(e, root, first) : -1;
    }
    e->rank = e->p;
    free(first);
    if (done > 0 && !ready_noise(&e->noise, e->slopes >= 0))
        done = -1;
    if (done <= 0) {
        free(root);
        return done;
    }
    Iteration s = {.e = e, .from = e->known, .sought = n - e->known, .filled = joined};
    long p = e->p, m = e->m, weights = p + (m ? e->rows->groups : 0) * m, sums = sums_size(e), slopes = slopes_size(e);
    long scratch = scratch_size(e) > p + m * (m + p) ? scratch_size(e) : p + m * (m + p);
    long size = 2 * sums + p * p + BLOCK * (2 * (p + m) + 1) + 2 * n + scratch + weights + slopes
                + (14 + 4 * MEMORY) * (long)s.sought + (e->chain ? structured_size(e) : 0);
    double *memory = malloc(sizeof(double) * size), *at = memory;
    if (!memory) {
        free(root);
        free_noise(&e->noise);
        return -1;
    }
    e->A = joined ? root : A;
    clear_sums(&s.known, slice(&at, sums), e);
    clear_sums(&s.found, slice(&at, sums), e);
    s.inverse = slice(&at, p * p);
    s.buffer = slice(&at, BLOCK * p);
    s.white = slice(&at, BLOCK * m);
    s.A = slice(&at, BLOCK * p);
    s.own = slice(&at, BLOCK * m);
    s.d = slice(&at, BLOCK);
    s.mean = slice(&at, n);
    s.v = slice(&at, n);
    s.scratch = slice(&at, scratch);
    double *implicit = slice(&at, weights), *by_rows = slice(&at, slopes);
    s.step = slice(&at, 2 * s.sought);
    s.last = slice(&at, 2 * s.sought);
    s.back = slice(&at, 4 * s.sought);
    s.point = slice(&at, 2 * s.sought);
    s.point_step = slice(&at, 2 * s.sought);
    s.dX = slice(&at, 2 * MEMORY * s.sought);
    s.dG = slice(&at, 2 * MEMORY * s.sought);
    if (e->chain)
        begin_structured(&s.beside, e, at);
    memset(by_rows, 0, sizeof(double) * slopes);
    memset(s.step, 0, sizeof(double) * 2 * s.sought);
    memset(s.last, 0, sizeof(double) * 2 * s.sought);
    meet_rows(&s);
    done = refresh_posterior(&s);
    if (!done) { /* sites to start from that leave no posterior */
        memset(e->lambda1 + s.from, 0, sizeof(double) * s.sought);
        memset(e->lambda2 + s.from, 0, sizeof(double) * s.sought);
        done = refresh_posterior(&s);
    }
    done = done && iterate(&s);
    if (done && e->slopes >= 0 && !find_slopes(&s, A, columns, implicit, by_rows))
        done = -1;
    e->A = A;
    e->p = columns;
    free(root);
    free(memory);
    free_noise(&e->noise);
    return done;
}

/* A visit to rows of a part that are iterated on elsewhere, with common columns only: their steps, (n,) of each natural
   parameter, beside the last ones. 0 without memory. */
int visit_rows(Evaluation *e, const double *inverse, const double *last1, const double *last2, double *step1,
               double *step2, Change *found)
{
    double *corner = malloc(sizeof(double) * BLOCK * (e->p + 2L));
    *found = (Change){0};
    e->failed = 0;
    if (!corner || !ready_noise(&e->noise, 0)) {
        free(corner);
        return 0;
    }
    double *mean = corner + (long)BLOCK * e->p, *v = mean + BLOCK;
    for (int from = 0; from < e->rows->n; from += BLOCK) {
        Part part = {from, e->rows->n - from < BLOCK ? e->rows->n - from : BLOCK, e->A + (long)from * e->p, NULL};
        const double *last[2] = {last1 + from, last2 + from};
        double *step[2] = {step1 + from, step2 + from};
        whiten_rows(e, inverse, &part, corner, NULL, v, mean);
        find_steps(e, &part, 1, mean, v, last, step, found);
    }
    free(corner);
    free_noise(&e->noise);
    return 1;
}

/* Add what the sites of such rows say: A' diag(lambda2) A, of which the lower triangle counts, and A' lambda1. */
int sum_rows(const Evaluation *e, double *B, double *r)
{
    double *buffer = malloc(sizeof(double) * BLOCK * e->p);
    if (!buffer)
        return 0;
    Sums sums = {B, r, NULL, NULL};
    for (int from = 0; from < e->rows->n; from += BLOCK) {
        Part part = {from, e->rows->n - from < BLOCK ? e->rows->n - from : BLOCK, e->A + (long)from * e->p, NULL};
        add_rows(&sums, e, &part, buffer);
    }
    free(buffer);
    return 1;
}

/* Slopes of such rows at the fixed point, whose mean and variance are given. 0 without memory. */
int slope_rows(Evaluation *e, const double *mean, const double *v, Slope *found)
{
    if (!ready_noise(&e->noise, 1))
        return 0;
    for (int i = 0; i < e->rows->n; i++)
        found[i] = site_slopes(e, i, mean[i], v[i]);
    free_noise(&e->noise);
    return 1;
}

/* What rows say of f, whose mean and variance are given: log Z, or E log p of variational inference. 0 without memory. */
int tilt_rows(Evaluation *e, const double *mean, const double *var, int slopes, Tilt *found)
{
    if (!ready_noise(&e->noise, slopes))
        return 0;
    for (int i = 0; i < e->rows->n; i++)
        found[i] = e->method == VI ? expected_row(e, i, mean[i], var[i], slopes)
                                   : tilted(&e->noise, e->rows, i, mean[i], var[i], mean[i], e->sigma, slopes);
    free_noise(&e->noise);
    return 1;
}
