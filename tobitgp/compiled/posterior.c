/* The posterior of the weights, q(w) = N(w, B^-1), an arrow where columns go with groups: numerics/arrow.py.

   B = I + A' diag(lambda2) A and r = A' lambda1 (SIT2); the groups are eliminated before the corner (FEA4). Where an
   array has rows of p columns BLAS sees its transpose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

static double one = 1, zero = 0, minus = -1;
static int unit = 1;

long sums_size(const Evaluation *e)
{
    long p = e->p, m = e->m;
    return p * p + p + (m ? e->rows->groups * m * (m + p + 1) : 0);
}

void clear_sums(Sums *s, double *memory, const Evaluation *e)
{
    long p = e->p, m = e->m, groups = m ? e->rows->groups : 0;
    s->B = memory;
    s->r = s->B + p * p;
    s->B_own = s->r + p;
    s->r_own = s->B_own + groups * m * (m + p);
    memset(memory, 0, sizeof(double) * sums_size(e));
}

/* Add A' diag(weight) A of some columns of rows that are `stride` apart; buffer (count, columns). */
VECTORISED void add_products(const double *A, int stride, int columns, int count, const double *weight, double *buffer,
                             double *out)
{
    for (double sign = 1; sign >= -1; sign -= 2) { /* rows of either sign, times their roots */
        int used = 0;
        for (int i = 0; i < count; i++) {
            if (!(sign * weight[i] > 0))
                continue;
            double root = sqrt(sign * weight[i]), *row = buffer + (long)used++ * columns;
            const double *a = A + (long)i * stride;
            for (int j = 0; j < columns; j++)
                row[j] = a[j] * root;
        }
        if (used)
            lib.dsyrk("L", "N", &columns, &used, &sign, buffer, &columns, &one, out, &columns);
    }
}

/* Add what some rows say; buffer (BLOCK, p). */
VECTORISED void add_rows(Sums *s, const Evaluation *e, const Part *part, double *buffer)
{
    int p = e->p, m = e->m, count = part->count;
    const double *lambda1 = e->lambda1 + part->from, *lambda2 = e->lambda2 + part->from;
    if (p) {
        add_products(part->A, p, p, count, lambda2, buffer, s->B);
        lib.dgemv("N", &p, &count, &one, (double *)part->A, &p, (double *)lambda1, &unit, &one, s->r, &unit);
    }
    for (int i = 0; m && i < count; i++) {
        const double *a = part->A + (long)i * p, *own = part->own + (long)i * m;
        long group = e->rows->code[part->from + i];
        double *B = s->B_own + group * m * (m + p), *r = s->r_own + group * m;
        for (int k = 0; k < m; k++, B += m + p) {
            double q = lambda2[i] * own[k];
            r[k] += lambda1[i] * own[k];
            for (int j = 0; j < m; j++)
                B[j] += q * own[j];
            for (int j = 0; j < p; j++)
                B[m + j] += q * a[j];
        }
    }
}

/* T = L^-1 of a small matrix (m, m) in C order; whether it is positive definite. */
static int invert_factor(int m, const double *B, int stride, double *T)
{
    for (int i = 0; i < m; i++) { /* L in the lower triangle of T */
        for (int j = 0; j <= i; j++) {
            double sum = B[i * stride + j];
            for (int k = 0; k < j; k++)
                sum -= T[i * m + k] * T[j * m + k];
            if (i == j && !(sum > 0))
                return 0;
            T[i * m + j] = i == j ? sqrt(sum) : sum / T[j * m + j];
        }
        for (int j = i + 1; j < m; j++)
            T[i * m + j] = 0;
    }
    for (int j = 0; j < m; j++) { /* column by column: what is overwritten is not needed again */
        T[j * m + j] = 1 / T[j * m + j];
        for (int i = j + 1; i < m; i++) {
            double sum = 0;
            for (int k = j; k < i; k++)
                sum -= T[i * m + k] * T[k * m + j];
            T[i * m + j] = sum / T[i * m + i];
        }
    }
    return 1;
}

/* B^-1 r in the place of r (M,), with L^-1 in `inverse`; z (p,) is scratch. */
void solve_arrow(const Evaluation *e, const double *inverse, double *r, double *z)
{
    int p = e->p, m = e->m, groups = m ? e->rows->groups : 0;
    for (long g = 0; g < groups; g++) {
        const double *T = e->T + g * m * m, *U = e->U + g * m * p;
        double *own = r + p + g * m;
        for (int i = m - 1; i >= 0; i--) { /* T r in place: what comes after is done with */
            double sum = 0;
            for (int k = 0; k <= i; k++)
                sum += T[i * m + k] * own[k];
            own[i] = sum;
            for (int j = 0; j < p; j++)
                r[j] -= U[i * p + j] * sum;
        }
    }
    if (p) {
        lib.dgemv("N", &p, &p, &one, (double *)inverse, &p, r, &unit, &zero, z, &unit);
        lib.dgemv("T", &p, &p, &one, (double *)inverse, &p, z, &unit, &zero, r, &unit);
    }
    for (long g = 0; g < groups; g++) {
        const double *T = e->T + g * m * m, *U = e->U + g * m * p;
        double *own = r + p + g * m;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < p; j++)
                own[i] -= U[i * p + j] * r[j];
        for (int j = 0; j < m; j++) { /* T' z in place: what lies before is done with */
            double sum = 0;
            for (int i = j; i < m; i++)
                sum += T[i * m + j] * own[i];
            own[j] = sum;
        }
    }
}

/* Factor and mean from the sums of all rows, those whose sites are known and the others; 0 where there are none. */
int find_posterior(Evaluation *e, const Sums *known, const Sums *sought, double *inverse, double *log_det, double *z)
{
    int p = e->p, m = e->m, groups = m ? e->rows->groups : 0, info = 0, rows = groups * m;
    *log_det = 0;
    for (long k = 0; k < (long)p * p; k++)
        e->L[k] = known->B[k] + sought->B[k];
    for (int j = 0; j < p; j++) {
        e->L[j + (long)j * p] += 1;
        e->w[j] = known->r[j] + sought->r[j];
    }
    for (int g = 0; g < groups; g++) {
        double *T = e->T + (long)g * m * m, *U = e->U + (long)g * m * p, *w = e->w + p + (long)g * m;
        double *B = z; /* (m, m + p) */
        long at = (long)g * m * (m + p);
        for (int k = 0; k < m * (m + p); k++)
            B[k] = known->B_own[at + k] + sought->B_own[at + k];
        for (int k = 0; k < m; k++)
            B[k * (m + p) + k] += 1;
        if (!invert_factor(m, B, m + p, T))
            return 0;
        for (int i = 0; i < m; i++) {
            *log_det -= 2 * log(T[i * m + i]);
            w[i] = known->r_own[(long)g * m + i] + sought->r_own[(long)g * m + i];
            for (int j = 0; j < p; j++)
                U[i * p + j] = 0;
            for (int k = 0; k <= i; k++)
                for (int j = 0; j < p; j++)
                    U[i * p + j] += T[i * m + k] * B[k * (m + p) + m + j];
        }
    }
    if (p) {
        if (rows)
            lib.dsyrk("L", "N", &p, &rows, &minus, e->U, &p, &one, e->L, &p);
        lib.dpotrf("L", &p, e->L, &p, &info);
        if (info || !isfinite(e->L[(long)p * p - 1]))
            return 0;
        for (int j = 0; j < p; j++) {
            for (int i = 0; i < j; i++)
                e->L[i + (long)j * p] = 0;
            *log_det += 2 * log(e->L[j + (long)j * p]);
        }
        memcpy(inverse, e->L, sizeof(double) * p * p);
        lib.dtrtri("L", "N", &p, inverse, &p, &info);
    }
    solve_arrow(e, inverse, e->w, z);
    return 1;
}

/* A L^-T of some rows: corner (count, p) and own part (count, m), its squared lengths v and the means A w. */
VECTORISED void whiten_rows(const Evaluation *e, const double *inverse, const Part *part, double *corner, double *own,
                            double *v, double *mean)
{
    int p = e->p, m = e->m, count = part->count;
    memcpy(corner, part->A, sizeof(double) * count * p);
    for (int i = 0; i < count; i++) {
        double *row = corner + (long)i * p;
        mean[i] = dot(p, row, e->w);
        v[i] = 0;
        if (!m)
            continue;
        long group = e->rows->code[part->from + i] < 0 ? 0 : e->rows->code[part->from + i]; /* new ones have no columns */
        const double *a = part->own + (long)i * m, *T = e->T + group * m * m, *U = e->U + group * m * p;
        mean[i] += dot(m, a, e->w + p + group * m);
        for (int k = 0; k < m; k++) {
            double t = dot(k + 1, a, T + k * m);
            own[(long)i * m + k] = t;
            v[i] += t * t;
            for (int j = 0; j < p; j++)
                row[j] -= t * U[k * p + j];
        }
    }
    if (!p)
        return;
    lib.dtrmm("L", "L", "N", "N", &p, &count, &one, (double *)inverse, &p, corner, &p);
    for (int i = 0; i < count; i++)
        v[i] += dot(p, corner + (long)i * p, corner + (long)i * p);
}
