/* Features of the rows and what their slopes are in the parameters: priors/kernel_block.py and kernels.py.

   A = K_NM T' with K_MM = L L' and T = sd^2 L^-1 (FEA2); d is what they leave of the prior variance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

static double one = 1;
static const double RELATIVE_RESIDUAL = 1e-10; /* of priors/kernel_block.py */

/* Squared distances (count, M) of inputs x (count, d) and z, whose transpose (d, M) is already divided by scales. */
VECTORISED static void squared_distances(int count, int d, int M, const double *x, const double *inverse_scale,
                                         const double *z, double *out)
{
    for (int i = 0; i < count; i++) {
        double *row = out + (long)i * M;
        for (int k = 0; k < M; k++)
            row[k] = 0;
        for (int j = 0; j < d; j++) {
            double v = x[(long)i * d + j] * inverse_scale[j];
            const double *from = z + (long)j * M;
            for (int k = 0; k < M; k++)
                row[k] += (v - from[k]) * (v - from[k]);
        }
    }
}

/* Correlations in the place of squared distances; work (n,). */
VECTORISED static void correlate(int kind, double *r2, double *work, long n)
{
    double stretch = kind == MATERN12 ? 1 : kind == MATERN32 ? 3 : 5;
    if (kind == RBF) {
        for (long i = 0; i < n; i++)
            r2[i] *= -.5;
        fill_exp(r2, n);
        return;
    }
    for (long i = 0; i < n; i++) {
        work[i] = sqrt(stretch * r2[i]);
        r2[i] = -work[i];
    }
    fill_exp(r2, n);
    if (kind == MATERN32)
        for (long i = 0; i < n; i++)
            r2[i] *= 1 + work[i];
    else if (kind == MATERN52)
        for (long i = 0; i < n; i++)
            r2[i] *= 1 + work[i] + work[i] * work[i] / 3;
}

/* -2 dK / dr^2 in the place of squared distances, given correlations K. */
VECTORISED static void slope_weights(int kind, const double *K, double *r2, double *work, long n)
{
    double stretch = kind == MATERN32 ? 3 : 5;
    if (kind == RBF) {
        memcpy(r2, K, sizeof(double) * n);
    } else if (kind == MATERN12) { /* at r = 0 the slope is infinite but meets a distance of zero */
        for (long i = 0; i < n; i++)
            r2[i] = r2[i] > 0 ? K[i] / sqrt(r2[i]) : 0;
    } else {
        for (long i = 0; i < n; i++) {
            work[i] = sqrt(stretch * r2[i]);
            r2[i] = -work[i];
        }
        fill_exp(r2, n);
        for (long i = 0; i < n; i++)
            r2[i] *= kind == MATERN32 ? 3 : 5. / 3 * (1 + work[i]);
    }
}

static void invert_scales(const Block *b, double *out)
{
    for (int j = 0; j < b->inputs; j++)
        out[j] = exp(-b->theta[1 + (b->each ? j : 0)]);
}

/* The transpose (d, M) of places Z (M, d), divided by scales. */
static void scale_and_turn(int M, int d, const double *Z, const double *inverse_scale, double *out)
{
    for (int k = 0; k < M; k++)
        for (int j = 0; j < d; j++)
            out[(long)j * M + k] = Z[(long)k * d + j] * inverse_scale[j];
}

static int n_parameters(const Block *b)
{
    return b->kind == COLUMNS ? 0 : 1 + (b->inputs == 0 ? 0 : b->each ? b->inputs : 1);
}

/* What functions of this file need for one block: matrices, buffers of rows, places and scales. */
long scratch_size(const Evaluation *e)
{
    long most = 0;
    for (int t = 0; t < e->n_blocks; t++) {
        long M = e->blocks[t].size, d = e->blocks[t].inputs;
        long need = M * M + M * (d + 2 + 3 * BLOCK) + 2 * d;
        most = need > most ? need : most;
    }
    return most;
}

/* Factor K_MM; which inducing inputs are numerically independent. */
static int fix_block(Block *b, double *scratch)
{
    int M = b->size, d = b->inputs, rank, info;
    double *C = scratch, *z = C + (long)M * M, *work = z + (long)M * d, *scale = work + 2 * M;
    double tolerance = RELATIVE_RESIDUAL, sd = exp(b->theta[0]);
    b->variance = sd * sd;
    invert_scales(b, scale);
    scale_and_turn(M, d, b->Z, scale, z);
    for (int k = 0; k < M; k++) {
        squared_distances(1, d, M, b->Z + (long)k * d, scale, z, C + (long)k * M);
        correlate(b->kind, C + (long)k * M, work, M);
    }
    lib.dpstrf("L", &M, C, &M, b->pivots, &rank, &tolerance, work, &info);
    if (info < 0 || !isfinite(C[0]))
        return 0;
    int r = b->kept = rank < 1 ? 1 : rank;
    for (int j = 0; j < r; j++)
        for (int i = 0; i < r; i++)
            b->L[i + (long)j * r] = i < j ? 0 : C[i + (long)j * M] * sd;
    memcpy(b->T, b->L, sizeof(double) * r * r);
    lib.dtrtri("L", "N", &r, b->T, &r, &info);
    for (long k = 0; k < (long)r * r; k++)
        b->T[k] *= b->variance;
    for (int k = 0; k < r; k++)
        memcpy(b->Z_kept + (long)k * d, b->Z + (long)(b->pivots[k] - 1) * d, sizeof(double) * d);
    return 1;
}

/* All blocks at their parameters, and where their columns lie; 0 where a covariance is not finite. */
int fix_blocks(Evaluation *e, double *scratch)
{
    e->p = e->m = 0;
    for (int t = 0; t < e->n_blocks; t++) {
        Block *b = e->blocks + t;
        if (b->kind == COLUMNS)
            b->kept = b->size;
        else if (!fix_block(b, scratch))
            return 0;
        int *columns = b->own ? &e->m : &e->p;
        b->first = *columns;
        *columns += b->kept;
    }
    return 1;
}

/* Where a block's columns begin in a row, of those of all rows given. */
static double *columns_of(const Evaluation *e, const Block *b, const double *common, const double *own, int row)
{
    return (double *)(b->own ? own + (long)row * e->m + b->first : common + (long)row * e->p + b->first);
}

/* Correlations (count, kept) of some rows with a block's inducing inputs; scratch kept (d + BLOCK) + d. */
static void correlations(const Block *b, int from, int count, double *K, double *scratch)
{
    int r = b->kept, d = b->inputs;
    double *z = scratch, *work = z + (long)r * d, *scale = work + (long)BLOCK * r;
    invert_scales(b, scale);
    scale_and_turn(r, d, b->Z_kept, scale, z);
    squared_distances(count, d, r, b->X + (long)from * d, scale, z, K);
    correlate(b->kind, K, work, (long)count * r);
}

/* Features (count, p) and (count, m) of at most BLOCK rows, and their residual variances d (count,). */
VECTORISED void fill_rows(const Evaluation *e, int from, int count, double *A, double *own, double *d, double *scratch)
{
    for (int i = 0; i < count; i++)
        d[i] = e->given_d ? e->given_d[from + i] : 0;
    for (int t = 0; t < e->n_blocks; t++) {
        const Block *b = e->blocks + t;
        int r = b->kept;
        if (b->kind == COLUMNS) {
            for (int i = 0; i < count; i++)
                memcpy(columns_of(e, b, A, own, i), b->X + (long)(from + i) * r, sizeof(double) * r);
            continue;
        }
        correlations(b, from, count, scratch, scratch + (long)BLOCK * r);
        lib.dtrmm("L", "L", "N", "N", &r, &count, &one, b->T, &r, scratch, &r);
        for (int i = 0; i < count; i++) {
            double *row = scratch + (long)i * r, *columns = columns_of(e, b, A, own, i), explained = dot(r, row, row);
            if (b->own && e->rows->code[from + i] < 0) { /* a group that is new has its prior */
                memset(columns, 0, sizeof(double) * r);
                explained = 0;
            } else {
                memcpy(columns, row, sizeof(double) * r);
            }
            d[i] += larger(b->variance - explained, 0);
        }
    }
}

/* Features of all rows, and in their place a root (n, rank) of the covariance A A' that they give f; 1; 0 where that is
   not finite, and -1 without memory. */
int join_columns(Evaluation *e, double *root, double *scratch)
{
    int n = e->rows->n, rank, info;
    double *K = malloc(sizeof(double) * n * (n + 2l)), usual = -1, zero = 0;
    int *place = malloc(sizeof(int) * n);
    if (!K || !place) {
        free(K);
        free(place);
        return -1;
    }
    for (int from = 0; from < n; from += BLOCK)
        fill_rows(e, from, n - from < BLOCK ? n - from : BLOCK, e->A + (long)from * e->p, NULL, e->d + from, scratch);
    lib.dsyrk("L", "T", &n, &e->p, &one, e->A, &e->p, &zero, K, &n);
    lib.dpstrf("L", &n, K, &n, place, &rank, &usual, K + (long)n * n, &info);
    int done = info >= 0 && isfinite(K[0]);
    rank = rank < 1 ? 1 : rank; /* all are zero */
    for (int i = 0; done && i < n; i++)
        for (int j = 0; j < rank; j++)
            root[(place[i] - 1l) * rank + j] = j <= i ? K[i + (long)j * n] : 0;
    e->p = done ? rank : e->p;
    free(K);
    free(place);
    return done;
}

/* Mean and variance (n,) of a' w in any rows, with blocks and posterior as they were found; 0 without memory. */
int find_marginals(Evaluation *e, const double *inverse, double *mean, double *v)
{
    long p = e->p, m = e->m;
    double *memory = malloc(sizeof(double) * (scratch_size(e) + 2 * BLOCK * (p + m) + 1)), *scratch;
    if (!memory)
        return 0;
    double *A = memory, *own = A + BLOCK * p, *corner = own + BLOCK * m, *white = corner + BLOCK * p;
    scratch = white + BLOCK * m;
    for (int from = 0; from < e->rows->n; from += BLOCK) {
        Part part = {from, e->rows->n - from < BLOCK ? e->rows->n - from : BLOCK, A, own};
        fill_rows(e, from, part.count, A, own, e->d + from, scratch);
        whiten_rows(e, inverse, &part, corner, white, v + from, mean + from);
    }
    free(memory);
    return 1;
}

/* Sum over pairs of G W (x - z)^2 for each input, in units of length-scales. */
VECTORISED static void add_squares(int count, int d, int M, const double *x, const double *inverse_scale, const double *z,
                                   const double *G, double *out)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < d; j++) {
            double v = x[(long)i * d + j] * inverse_scale[j], sum = 0;
            const double *from = z + (long)j * M, *g = G + (long)i * M;
#pragma omp simd reduction(+ : sum)
            for (int k = 0; k < M; k++)
                sum += g[k] * (v - from[k]) * (v - from[k]);
            out[j] += sum;
        }
}

/* Sums of slopes over rows: of each block, through K_NM by log sd, through k_nn, by each input, and A' G (kept, kept). */
long slopes_size(const Evaluation *e)
{
    long size = 0;
    for (int t = 0; t < e->n_blocks; t++)
        size += e->blocks[t].kind == COLUMNS ? 0 : 2 + e->blocks[t].inputs + (long)e->blocks[t].kept * e->blocks[t].kept;
    return size;
}

/* Add what rows say of the slopes in the parameters, from those in their columns G and G_own, and in d; (FEA6).

   Of common columns A' G is w w' + S - I, which finish_slopes adds, less 2 A' diag(g_d) A: at the fixed point
   A' alpha = w and A' diag(lambda2) A S = I - S. */
VECTORISED void add_slopes(const Evaluation *e, const Part *part, double *G, double *G_own, const double *g_d, double *sums,
                           double *scratch)
{
    int count = part->count;
    double twice[BLOCK];
    for (int i = 0; i < count; i++)
        twice[i] = -2 * g_d[i];
    for (int t = 0; t < e->n_blocks; t++) {
        const Block *b = e->blocks + t;
        int r = b->kept, d = b->inputs;
        if (b->kind == COLUMNS)
            continue;
        double *by_input = sums + 2, *AtG = by_input + d, *K = scratch, *W = K + (long)BLOCK * r, *own = W + (long)BLOCK * r;
        double *z = own, *work = z + (long)r * d, *scale = work + (long)BLOCK * r;
        if (b->own) {
            for (int i = 0; i < count; i++) {
                const double *a = columns_of(e, b, part->A, part->own, i), *g = columns_of(e, b, G, G_own, i);
                for (int j = 0; j < r; j++)
                    for (int k = j; k < r; k++)
                        AtG[k + (long)j * r] += .5 * (a[k] * g[j] + a[j] * g[k]) + twice[i] * a[k] * a[j];
            }
        } else {
            add_products(part->A + b->first, e->p, r, count, twice, W, AtG);
        }
        correlations(b, part->from, count, K, own);
        squared_distances(count, d, r, b->X + (long)part->from * d, scale, z, W);
        slope_weights(b->kind, K, W, work, (long)count * r);
        double *through = work; /* G T of the rows */
        for (int i = 0; i < count; i++) {
            const double *a = columns_of(e, b, part->A, part->own, i), *g = columns_of(e, b, G, G_own, i);
            for (int j = 0; j < r; j++)
                through[(long)i * r + j] = g[j] + twice[i] * a[j];
            sums[1] += g_d[i];
        }
        lib.dtrmm("L", "L", "T", "N", &r, &count, &one, b->T, &r, through, &r);
        sums[0] += dot((long)count * r, through, K);
        for (long k = 0; k < (long)count * r; k++)
            through[k] *= W[k];
        add_squares(count, d, r, b->X + (long)part->from * d, scale, z, through, by_input);
        sums = AtG + (long)r * r;
    }
}

/* The gradient in the parameters of all blocks, from the sums over rows; `between` (p, p): w w' + S - I. */
void finish_slopes(const Evaluation *e, const double *between, double *sums, double *scratch)
{
    double *out = e->gradient;
    for (int t = 0; t < e->n_blocks; t++) {
        const Block *b = e->blocks + t;
        int r = b->kept, d = b->inputs;
        if (b->kind == COLUMNS)
            continue;
        double *by_input = sums + 2, *G = by_input + d, by_sd = sums[0];
        double *K = scratch, *W = K + r, *z = W + r, *work = z + (long)r * d, *scale = work + r;
        /* dF/dK_MM = -1/2 L^-T (A' G) L^-1, symmetric at the fixed point (FEA7), through T = sd^2 L^-1 */
        for (int j = 0; j < r; j++)
            for (int i = 0; i < r; i++) {
                double more = b->own || i < j ? 0 : between[b->first + i + (long)(b->first + j) * e->p];
                G[i + (long)j * r] = i < j ? G[j + (long)i * r] : -.5 / b->variance * (G[i + (long)j * r] + more);
            }
        lib.dtrmm("L", "L", "T", "N", &r, &r, &one, b->T, &r, G, &r);
        lib.dtrmm("R", "L", "N", "N", &r, &r, &one, b->T, &r, G, &r);
        invert_scales(b, scale);
        scale_and_turn(r, d, b->Z_kept, scale, z);
        for (int k = 0; k < r; k++) {
            squared_distances(1, d, r, b->Z_kept + (long)k * d, scale, z, W);
            memcpy(K, W, sizeof(double) * r);
            correlate(b->kind, K, work, r);
            slope_weights(b->kind, K, W, work, r);
            by_sd += dot(r, G + (long)k * r, K);
            for (int j = 0; j < r; j++)
                W[j] *= G[j + (long)k * r];
            add_squares(1, d, r, b->Z_kept + (long)k * d, scale, z, W, by_input);
        }
        *out++ = 2 * (by_sd + b->variance * sums[1]);
        if (b->each)
            memcpy(out, by_input, sizeof(double) * d);
        for (int j = 0; d && !b->each && j < d; j++)
            out[0] = by_input[j] + (j ? out[0] : 0);
        out += n_parameters(b) - 1;
        sums = G + (long)r * r;
    }
}

/* Rows (of X) as inducing inputs, largest weight times residual variance first (FEA9), until half the sum of these falls
   to `nats` (FEA8) or there are `cap`; the first `least` are taken anyhow. Gives how many, or -1 without memory. */
int choose_inducing(const Block *b, int n, const double *weight, double nats, int cap, int least,
                    int *chosen, double *left)
{
    int d = b->inputs, found = 0, room = 0, unit = 1;
    double sd = exp(b->theta[0]), variance = sd * sd, total = 0, minus = -1;
    double *memory = malloc(sizeof(double) * ((long)n * (d + 3) + d + cap + 1)), *A = NULL;
    if (!memory)
        return -1;
    double *x = memory, *residual = x + (long)n * d, *column = residual + n, *work = column + n, *scale = work + n;
    double *a = scale + d;
    invert_scales(b, scale);
    scale_and_turn(n, d, b->X, scale, x);
    for (int i = 0; i < n; i++)
        residual[i] = variance;
    for (;; found++) {
        int best = 0;
        total = 0;
        for (int i = 0; i < n; i++) {
            best = weight[i] * residual[i] > weight[best] * residual[best] ? i : best;
            total += weight[i] * residual[i];
        }
        if (found == cap || residual[best] <= RELATIVE_RESIDUAL * variance || (found >= least && .5 * total <= nats))
            break;
        if (found == room) {
            room = room ? 2 * room : least;
            room = room < cap ? room : cap;
            double *more = realloc(A, sizeof(double) * room * n);
            if (!more) {
                free(A);
                free(memory);
                return -1;
            }
            A = more;
        }
        double root = sqrt(residual[best]), part = variance / root, *now = A + (long)found * n;
        squared_distances(1, d, n, b->X + (long)best * d, scale, x, column);
        correlate(b->kind, column, work, n);
        for (int k = 0; k < found; k++)
            a[k] = A[(long)k * n + best] / root;
        for (int i = 0; i < n; i++)
            now[i] = column[i] * part;
        if (found)
            lib.dgemv("N", &n, &found, &minus, A, &n, a, &unit, &one, now, &unit);
        for (int i = 0; i < n; i++)
            residual[i] = larger(residual[i] - now[i] * now[i], 0);
        residual[best] = 0;
        chosen[found] = best;
    }
    *left = .5 * total;
    free(A);
    free(memory);
    if (!found)
        chosen[found++] = 0;
    return found;
}
