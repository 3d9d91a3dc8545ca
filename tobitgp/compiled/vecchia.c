/* Vecchia's prior: priors/vecchia.py. Sets of a knot and its neighbours are worked on side by side, several at once. */
#include <math.h>
#include <string.h>
#include "core.h"

enum { SIDE = 8 };
typedef double Lanes[SIDE];

/* Lower triangles, row by row, of some sets; those beyond the last repeat it. */
static inline __attribute__((always_inline)) void gather(const Sets *s, long from, const double *values, Lanes *out)
{
    long T = s->size * (s->size + 1l) / 2;
    for (int k = 0; k < SIDE; k++) {
        const int *pair = s->pair + (from + k < s->n ? from + k : s->n - 1) * T;
        for (long j = 0; j < T; j++)
            out[j][k] = values[pair[j]];
    }
}

/* Cholesky factors of the first m rows and columns, in place, with inverse diagonals. */
static inline __attribute__((always_inline)) void factorise_sets(int m, Lanes *A)
{
    for (int i = 0; i < m; i++) {
        Lanes *row = A + i * (i + 1l) / 2;
        for (int j = 0; j <= i; j++) {
            const Lanes *other = (const Lanes *)(A + j * (j + 1l) / 2);
            double sum[SIDE];
            memcpy(sum, row[j], sizeof(sum));
            for (int l = 0; l < j; l++)
                for (int k = 0; k < SIDE; k++)
                    sum[k] -= row[l][k] * other[l][k];
            for (int k = 0; k < SIDE; k++)
                row[j][k] = i == j ? 1 / sqrt(sum[k]) : sum[k] * other[j][k];
        }
    }
}

/* Solutions of L L' z = x, in place. */
static inline __attribute__((always_inline)) void solve_sets(int m, const Lanes *L, Lanes *x)
{
    for (int i = 0; i < m; i++) {
        const Lanes *row = L + i * (i + 1l) / 2;
        for (int j = 0; j < i; j++)
            for (int k = 0; k < SIDE; k++)
                x[i][k] -= row[j][k] * x[j][k];
        for (int k = 0; k < SIDE; k++)
            x[i][k] *= row[i][k];
    }
    for (int i = m - 1; i >= 0; i--) {
        const Lanes *row = L + i * (i + 1l) / 2;
        for (int k = 0; k < SIDE; k++)
            x[i][k] *= row[i][k];
        for (int j = 0; j < i; j++)
            for (int k = 0; k < SIDE; k++)
                x[j][k] -= row[j][k] * x[i][k];
    }
}

/* Numbers that the next two work with. */
long sets_scratch(const Sets *s) { return SIDE * (s->size * (s->size + 1l) / 2 + 2 * s->size); }

/* Contrasts (n, size) and variances (n,) from covariances of pairs, (VEC1), and the precisions of pairs, (P + 2,). */
VECTORISED void fix_sets(const Sets *s, const double *K, double least, double *contrasts, double *D, double *Q,
                         double *scratch)
{
    int m = s->size - 1;
    long T = s->size * (s->size + 1l) / 2;
    Lanes *A = (Lanes *)scratch, *b = A + T;
    for (long from = 0; from < s->n; from += SIDE) {
        int count = s->n - from < SIDE ? s->n - from : SIDE;
        double left[SIDE];
        gather(s, from, K, A);
        Lanes *beside = A + m * (m + 1l) / 2;
        memcpy(b, beside, sizeof(Lanes) * m);
        memcpy(left, beside[m], sizeof(left));
        factorise_sets(m, A);
        solve_sets(m, (const Lanes *)A, b);
        for (int j = 0; j < m; j++)
            for (int k = 0; k < SIDE; k++)
                left[k] -= b[j][k] * beside[j][k];
        for (int k = 0; k < count; k++) {
            double *q = contrasts + (from + k) * s->size, variance = D[from + k] = larger(left[k], least);
            const int *pair = s->pair + (from + k) * T;
            for (int j = 0; j < m; j++)
                q[j] = -b[j][k];
            q[m] = 1;
            for (int i = 0; i <= m; i++, pair += i) {
                double scaled = q[i] / variance;
                for (int j = 0; j <= i; j++)
                    Q[pair[j]] += scaled * q[j];
            }
        }
    }
}

/* Slopes of the evidence by the covariances of pairs, (P + 2,), from second moments M of pairs, (VEC5) and (VEC6);
   returns that by log sd. */
VECTORISED double slope_sets(const Sets *s, const double *K, const double *M, const double *contrasts, const double *D,
                             double *G, double *scratch)
{
    int m = s->size - 1;
    long T = s->size * (s->size + 1l) / 2;
    Lanes *A = (Lanes *)scratch, *q = A + T, *Mq = q + s->size;
    double by_sd = 0;
    for (long from = 0; from < s->n; from += SIDE) {
        int count = s->n - from < SIDE ? s->n - from : SIDE;
        double excess[SIDE] = {0}, inverse[SIDE];
        for (int k = 0; k < SIDE; k++) {
            long i = from + (k < count ? k : count - 1);
            inverse[k] = 1 / D[i];
            for (int j = 0; j <= m; j++)
                q[j][k] = contrasts[i * s->size + j];
        }
        gather(s, from, M, A);
        memset(Mq, 0, sizeof(Lanes) * s->size);
        for (int i = 0; i <= m; i++) {
            const Lanes *row = (const Lanes *)(A + i * (i + 1l) / 2);
            for (int j = 0; j < i; j++)
                for (int k = 0; k < SIDE; k++) {
                    Mq[i][k] += row[j][k] * q[j][k];
                    Mq[j][k] += row[j][k] * q[i][k];
                }
            for (int k = 0; k < SIDE; k++)
                Mq[i][k] += row[i][k] * q[i][k];
        }
        for (int i = 0; i <= m; i++)
            for (int k = 0; k < SIDE; k++)
                excess[k] += q[i][k] * Mq[i][k];
        for (int k = 0; k < SIDE; k++)
            excess[k] = excess[k] * inverse[k] - 1;
        gather(s, from, K, A);
        factorise_sets(m, A);
        for (int i = 0; i < m; i++)
            for (int k = 0; k < SIDE; k++)
                Mq[i][k] *= inverse[k];
        solve_sets(m, (const Lanes *)A, Mq);
        memset(Mq[m], 0, sizeof(Lanes));
        for (int i = 0; i <= m; i++)
            for (int k = 0; k < SIDE; k++)
                Mq[i][k] += 0.5 * excess[k] * inverse[k] * q[i][k];
        for (int k = 0; k < count; k++) {
            const int *pair = s->pair + (from + k) * T;
            by_sd += excess[k];
            for (int i = 0; i <= m; i++, pair += i) {
                for (int j = 0; j < i; j++)
                    G[pair[j]] += Mq[i][k] * q[j][k] + Mq[j][k] * q[i][k];
                G[pair[i]] += Mq[i][k] * q[i][k];
            }
        }
    }
    return by_sd;
}

/* Add sum_j signs_j s_j s_j' of columns S (n, k) to moments of pairs (P,). */
VECTORISED void add_columns(long P, int k, const int *rows, const int *columns, const double *S, const double *signs,
                            double *M)
{
    for (long p = 0; p < P; p++) {
        const double *a = S + (long)rows[p] * k, *b = S + (long)columns[p] * k;
        for (int j = 0; j < k; j++)
            M[p] += signs[j] * a[j] * b[j];
    }
}
