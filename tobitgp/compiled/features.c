/* Features of the rows and what their slopes are in the parameters: priors/kernel_block.py and kernels.py.

   A = K_NM T' with K_MM = L L' and T = sd^2 L^-1 (FEA2); d is what they leave of the prior variance. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

static double one = 1;
static const double RELATIVE_RESIDUAL = 1e-10; /* of priors/kernel_block.py */

/* Exponentials in place, to some 2e-16: e^x = 2^k e^r with |r| <= log(2) / 2 and a polynomial in r. */
VECTORISED void fill_exp(double *x, long n)
{
    const double shift = 0x1.8p52; /* adding it rounds to a whole number, held in the lowest bits */
    for (long i = 0; i < n; i++) {
        double v = x[i] < -708 ? -708 : x[i] > 709 ? 709 : x[i];
        double rounded = v * 1.4426950408889634 + shift, k = rounded - shift;
        double r = (v - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
        double e = 1. / 479001600;
        e = e * r + 1. / 39916800;
        e = e * r + 1. / 3628800;
        e = e * r + 1. / 362880;
        e = e * r + 1. / 40320;
        e = e * r + 1. / 5040;
        e = e * r + 1. / 720;
        e = e * r + 1. / 120;
        e = e * r + 1. / 24;
        e = e * r + 1. / 6;
        e = e * r + .5;
        e = e * r + 1;
        e = e * r + 1;
        uint64_t bits, power;
        memcpy(&bits, &e, 8);
        memcpy(&power, &rounded, 8);
        bits += power << 52;
        memcpy(&x[i], &bits, 8);
    }
}

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

static void invert_scales(const Block *b, const double *theta, double *out)
{
    for (int j = 0; j < b->inputs; j++)
        out[j] = exp(-theta[1 + (b->each ? j : 0)]);
}

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

/* Factor K_MM; which inducing inputs are numerically independent. Scratch M (M + d + 2) + d. */
static int fix_block(Block *b, const double *theta, double *scratch)
{
    int M = b->size, d = b->inputs, rank, info;
    double *C = scratch, *z = C + (long)M * M, *work = z + (long)M * d, *scale = work + 2 * M;
    double tolerance = RELATIVE_RESIDUAL, sd = exp(theta[0]);
    b->variance = sd * sd;
    invert_scales(b, theta, scale);
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

/* A block's columns among those of all, and where its row begins. */
static double *columns_of(const Evaluation *e, const Block *b, double *common, double *own, long row)
{
    return b->own ? own + row * e->m + b->first : common + row * e->p + b->first;
}

static void fill_columns(Evaluation *e, const Block *b)
{
    for (int i = 0; i < e->rows->n; i++)
        memcpy(columns_of(e, b, e->A, e->own, i), b->X + (long)i * b->size, sizeof(double) * b->size);
}

/* Scratch r (d + 2 BLOCK) + d. */
VECTORISED static void fill_features(Evaluation *e, const Block *b, const double *theta, double *scratch)
{
    int r = b->kept, d = b->inputs, n = e->rows->n;
    double *z = scratch, *buffer = z + (long)r * d, *work = buffer + (long)BLOCK * r, *scale = work + (long)BLOCK * r;
    invert_scales(b, theta, scale);
    scale_and_turn(r, d, b->Z_kept, scale, z);
    for (int start = 0; start < n; start += BLOCK) {
        int count = n - start < BLOCK ? n - start : BLOCK;
        squared_distances(count, d, r, b->X + (long)start * d, scale, z, buffer);
        correlate(b->kind, buffer, work, (long)count * r);
        if (b->K)
            memcpy(b->K + (long)start * r, buffer, sizeof(double) * count * r);
        lib.dtrmm("L", "L", "N", "N", &r, &count, &one, b->T, &r, buffer, &r);
        for (int i = 0; i < count; i++) {
            double *row = buffer + (long)i * r, explained = dot(r, row, row);
            double *columns = columns_of(e, b, e->A, e->own, start + i);
            if (b->own && e->rows->code[start + i] < 0) { /* a group that is new has its prior */
                memset(columns, 0, sizeof(double) * r);
                explained = 0;
            } else {
                memcpy(columns, row, sizeof(double) * r);
            }
            e->d[start + i] += fmax(b->variance - explained, 0);
        }
    }
}

static long scratch_size(const Evaluation *e)
{
    long most = 0;
    for (int t = 0; t < e->n_blocks; t++) {
        long M = e->blocks[t].size, d = e->blocks[t].inputs;
        long need = 2 * M * M + M * (2 * d + 4 + 3 * BLOCK) + 2 * d + 8;
        most = need > most ? need : most;
    }
    return most;
}

/* All blocks' columns and residual variances, these added to what is there; 0 where a covariance is not finite, -1 without memory. */
int make_features(Evaluation *e)
{
    double *scratch = malloc(sizeof(double) * scratch_size(e));
    if (!scratch)
        return -1;
    const double *theta = e->theta;
    int found = 1;
    e->p = e->m = 0;
    for (int t = 0; t < e->n_blocks && found; t++) {
        Block *b = e->blocks + t;
        if (b->kind == COLUMNS)
            b->kept = b->size;
        else
            found = fix_block(b, theta, scratch);
        theta += n_parameters(b);
        int *columns = b->own ? &e->m : &e->p;
        b->first = *columns;
        *columns += b->kept;
    }
    theta = e->theta;
    for (int t = 0; t < e->n_blocks && found; t++) {
        Block *b = e->blocks + t;
        if (b->kind == COLUMNS)
            fill_columns(e, b);
        else
            fill_features(e, b, theta, scratch);
        theta += n_parameters(b);
    }
    free(scratch);
    return found;
}

/* Mean and variance (n,) of a' w in any rows, with blocks and posterior as they were found; 0 without memory. */
int find_marginals(Evaluation *e, const double *inverse, double *mean, double *v)
{
    double *scratch = malloc(sizeof(double) * (scratch_size(e) + BLOCK * (long)(e->p + e->m)));
    const double *theta = e->theta;
    if (!scratch)
        return 0;
    for (int t = 0; t < e->n_blocks; t++) {
        const Block *b = e->blocks + t;
        if (b->kind == COLUMNS)
            fill_columns(e, b);
        else
            fill_features(e, b, theta, scratch);
        theta += n_parameters(b);
    }
    for (int start = 0; start < e->rows->n; start += BLOCK) {
        int count = e->rows->n - start < BLOCK ? e->rows->n - start : BLOCK;
        whiten_rows(e, inverse, start, count, scratch, scratch + (long)BLOCK * e->p, v + start, mean + start);
    }
    free(scratch);
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

/* A' G of a block's own columns (r, r), lower triangle, symmetric at the fixed point: where columns are common
   A' alpha = w and A' diag(lambda2) A S = I - S, so that w w' + S - I, which `between` holds of all, is left of all but
   2 A' diag(g_d) A. */
VECTORISED static void products_between(const Evaluation *e, const Block *b, const double *between, double *buffer,
                                        double *AtG)
{
    int r = b->kept, p = e->p, n = e->rows->n;
    for (int j = 0; j < r; j++)
        for (int i = 0; i < r; i++)
            AtG[i + (long)j * r] = b->own ? 0 : between[b->first + i + (long)(b->first + j) * p];
    for (int start = 0; start < n; start += BLOCK) {
        int count = n - start < BLOCK ? n - start : BLOCK;
        for (double sign = -1; sign <= 1; sign += 2) { /* -2 g_d of either sign */
            int used = 0;
            for (int i = start; i < start + count; i++) {
                double size = -2 * sign * e->g_d[i], root = sqrt(size > 0 ? size : 0);
                const double *a = columns_of(e, b, e->A, e->own, i);
                if (root > 0) {
                    double *out = buffer + (long)used++ * r;
                    for (int j = 0; j < r; j++)
                        out[j] = root * a[j];
                }
            }
            if (used)
                lib.dsyrk("L", "N", &r, &used, &sign, buffer, &r, &one, AtG, &r);
        }
        for (int i = start; b->own && i < start + count; i++) {
            const double *a = columns_of(e, b, e->A, e->own, i), *G = columns_of(e, b, e->G, e->G_own, i);
            for (int j = 0; j < r; j++)
                for (int k = j; k < r; k++)
                    AtG[k + (long)j * r] += .5 * (a[k] * G[j] + a[j] * G[k]);
        }
    }
}

/* Slopes in a block's log sd and log length-scales from those in its columns and in d, (FEA6) and (FEA7). */
VECTORISED static void kernel_slopes(const Evaluation *e, const Block *b, const double *between, const double *theta,
                                     double *scratch, double *out)
{
    int r = b->kept, d = b->inputs, n = e->rows->n;
    double *G_MM = scratch, *z = G_MM + (long)r * r, *G = z + (long)r * d, *W = G + (long)BLOCK * r;
    double *work = W + (long)BLOCK * r, *scale = work + (long)BLOCK * r, *by_input = scale + d;
    double by_sd = 0, through_d = 0;
    invert_scales(b, theta, scale);
    scale_and_turn(r, d, b->Z_kept, scale, z);
    memset(by_input, 0, sizeof(double) * d);
    for (int start = 0; start < n; start += BLOCK) {
        int count = n - start < BLOCK ? n - start : BLOCK;
        for (int i = 0; i < count; i++) {
            const double *slope = columns_of(e, b, e->G, e->G_own, start + i);
            const double *a = columns_of(e, b, e->A, e->own, start + i);
            double g_d = e->g_d[start + i];
            for (int j = 0; j < r; j++)
                G[(long)i * r + j] = slope[j] - 2 * g_d * a[j];
            through_d += g_d;
        }
        lib.dtrmm("L", "L", "T", "N", &r, &count, &one, b->T, &r, G, &r);
        const double *K = b->K + (long)start * r;
        by_sd += dot((long)count * r, G, K);
        squared_distances(count, d, r, b->X + (long)start * d, scale, z, W);
        slope_weights(b->kind, K, W, work, (long)count * r);
        for (long k = 0; k < (long)count * r; k++)
            G[k] *= W[k];
        add_squares(count, d, r, b->X + (long)start * d, scale, z, G, by_input);
    }
    products_between(e, b, between, G, G_MM);
    /* dF/dK_MM = -1/2 L^-T (A' G) L^-1, symmetric at the fixed point, through T = sd^2 L^-1 */
    for (int j = 0; j < r; j++)
        for (int i = 0; i < r; i++)
            G_MM[i + (long)j * r] = i < j ? G_MM[j + (long)i * r] : -.5 / b->variance * G_MM[i + (long)j * r];
    lib.dtrmm("L", "L", "T", "N", &r, &r, &one, b->T, &r, G_MM, &r);
    lib.dtrmm("R", "L", "N", "N", &r, &r, &one, b->T, &r, G_MM, &r);
    double *K = G, *w = K + r;
    for (int k = 0; k < r; k++) {
        squared_distances(1, d, r, b->Z_kept + (long)k * d, scale, z, w);
        memcpy(K, w, sizeof(double) * r);
        correlate(b->kind, K, work, r);
        slope_weights(b->kind, K, w, work, r);
        for (int j = 0; j < r; j++) {
            by_sd += G_MM[j + (long)k * r] * K[j];
            w[j] *= G_MM[j + (long)k * r];
        }
        add_squares(1, d, r, b->Z_kept + (long)k * d, scale, z, w, by_input);
    }
    *out++ = 2 * (by_sd + b->variance * through_d);
    if (b->each || !d) {
        memcpy(out, by_input, sizeof(double) * d);
        return;
    }
    *out = 0;
    for (int j = 0; j < d; j++)
        *out += by_input[j];
}

/* The gradient in the parameters of all blocks, then in log sigma; 0 without memory. */
int block_slopes(const Evaluation *e, const double *between, double in_noise)
{
    double *scratch = malloc(sizeof(double) * scratch_size(e)), *out = e->gradient;
    const double *theta = e->theta;
    if (!scratch)
        return 0;
    for (int t = 0; t < e->n_blocks; t++) {
        const Block *b = e->blocks + t;
        if (b->kind != COLUMNS)
            kernel_slopes(e, b, between, theta, scratch, out);
        theta += n_parameters(b);
        out += n_parameters(b);
    }
    *out = in_noise;
    free(scratch);
    return 1;
}

/* Rows (of X) as inducing inputs, largest weight times residual variance first (FEA9), until half the sum of these falls
   to `nats` (FEA8) or there are `cap`; the first `least` are taken anyhow. Gives how many, or -1 without memory. */
int choose_inducing(const Block *b, int n, const double *theta, const double *weight, double nats, int cap, int least,
                    int *chosen, double *left)
{
    int d = b->inputs, found = 0, room = 0, unit = 1;
    double sd = exp(theta[0]), variance = sd * sd, total = 0, minus = -1;
    double *memory = malloc(sizeof(double) * ((long)n * (d + 3) + d + cap + 1)), *A = NULL;
    if (!memory)
        return -1;
    double *x = memory, *residual = x + (long)n * d, *column = residual + n, *work = column + n, *scale = work + n;
    double *a = scale + d;
    invert_scales(b, theta, scale);
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
            residual[i] = fmax(residual[i] - now[i] * now[i], 0);
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
