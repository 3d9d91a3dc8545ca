/* The posterior beside a Markov chain, f = A w + e: inference/structured.py.

   The chain is integrated out first: A~ = A - V0 Lambda A, B = I + A' Lambda A~, r = A' (lambda1 - Lambda V0 lambda1),
   (STR2) and (STR3). Rows that share a knot add up there. */
#include <string.h>
#include "core.h"

static double one = 1;

static double *take(double **memory, long size)
{
    double *out = *memory;
    *memory += size;
    return out;
}

static long most_columns(long p) { return 2 + p < COLUMNS_AT_ONCE ? 2 + p : COLUMNS_AT_ONCE; }

/* Numbers that the chain and the posterior beside it need. */
long structured_size(const Evaluation *e)
{
    long N = e->chain->knots, S = e->chain->states, p = e->p, n = e->rows->n;
    long chain = (5 * N + 1) * S * S + 4 * N * S + N + (2 * N + 1) * most_columns(p) * S;
    return chain + N * (9 + 4 * p) + n * (1 + p) + 2 + p;
}

/* The chain at its parameters, and nothing known of the rows. */
void begin_structured(Structured *s, Evaluation *e, double *memory)
{
    Chain *c = e->chain;
    long N = c->knots, S = c->states, p = e->p, n = e->rows->n;
    double **matrices[] = {&c->Phi, &c->C, &c->G, &c->back}, **vectors[] = {&c->gain, &c->site, &c->by_mu, &c->by_g};
    for (int k = 0; k < 4; k++) {
        *matrices[k] = take(&memory, N * S * S);
        *vectors[k] = take(&memory, N * S);
    }
    c->P = take(&memory, (N + 1) * S * S);
    c->variance = take(&memory, N);
    c->columns = take(&memory, (2 * N + 1) * most_columns(p) * S);
    c->lambda2 = s->lambda2 = take(&memory, N);
    s->U = take(&memory, N * (1 + p));
    s->known_lambda2 = take(&memory, N);
    s->known_U = take(&memory, N * (1 + p));
    s->V0_U = take(&memory, N * (1 + p));
    s->implicit = take(&memory, N);
    s->moved = take(&memory, N);
    s->columns = take(&memory, N * (2 + p));
    s->signs = take(&memory, 2 + p);
    s->mean = take(&memory, n);
    s->A = take(&memory, n * p);
    memset(s->known_lambda2, 0, sizeof(double) * N);
    memset(s->known_U, 0, sizeof(double) * N * (1 + p));
    fix_chain(c);
}

static void add_to_knots(const Evaluation *e, int from, int to, double *lambda2, double *U)
{
    int p = e->p;
    for (int i = from; i < to; i++) {
        double *at = U + e->knot[i] * (1l + p), precision = e->lambda2[i];
        const double *a = e->A + (long)i * p;
        lambda2[e->knot[i]] += precision;
        at[0] += e->lambda1[i];
        for (int j = 0; j < p; j++)
            at[1 + j] += precision * a[j];
    }
}

/* Take in rows whose sites are known. */
void add_known_rows(Structured *s, const Evaluation *e, int from, int to)
{
    add_to_knots(e, from, to, s->known_lambda2, s->known_U);
}

/* What the sites of all rows, the first `known` of which were taken in, make of the chain and the weights; 0 where they
   leave no posterior. The buffer holds (BLOCK, p). */
VECTORISED int find_structured(Structured *s, Evaluation *e, int known, const Sums *none, Sums *sums, double *inverse,
                               double *log_det, double *buffer, double *scratch)
{
    int p = e->p, n = e->rows->n, N = e->chain->knots;
    memcpy(s->lambda2, s->known_lambda2, sizeof(double) * N);
    memcpy(s->U, s->known_U, sizeof(double) * N * (1 + p));
    add_to_knots(e, known, n, s->lambda2, s->U);
    if (!condition_chain(e->chain))
        return 0;
    solve_chain(e->chain, 1 + p, s->U, s->V0_U);
    clear_sums(sums, sums->B, e);
    for (int from = 0; p && from < n; from += BLOCK) {
        int count = n - from < BLOCK ? n - from : BLOCK;
        for (int i = from; i < from + count; i++) {
            const double *V0_U = s->V0_U + e->knot[i] * (1l + p), *a = e->A + (long)i * p;
            double *A = s->A + (long)i * p, *LA = buffer + (long)(i - from) * p;
            double left = e->lambda1[i] - e->lambda2[i] * V0_U[0];
            for (int j = 0; j < p; j++) {
                A[j] = a[j] - V0_U[1 + j];
                LA[j] = e->lambda2[i] * a[j];
                sums->r[j] += left * a[j];
            }
        }
        lib.dgemm("N", "T", &p, &p, &count, &one, buffer, &p, s->A + (long)from * p, &p, &one, sums->B, &p);
    }
    if (!find_posterior(e, none, sums, inverse, log_det, scratch))
        return 0;
    *log_det += e->chain->log_det;
    s->quadratic = 0;
    for (int i = 0; i < n; i++) {
        double m = s->mean[i] = s->V0_U[e->knot[i] * (1l + p)] + dot(p, s->A + (long)i * p, e->w);
        s->quadratic += (e->lambda1[i] - e->lambda2[i] * m) * m;
    }
    return 1;
}

/* Add the chain's mean and variance to those of A~ w. */
void add_chain(const Structured *s, const Evaluation *e, int from, int count, double *mean, double *v)
{
    for (int i = 0; i < count; i++) {
        int knot = e->knot[from + i];
        mean[i] += s->V0_U[knot * (1l + e->p)];
        v[i] += e->chain->variance[knot];
    }
}

/* How e moves with the mode of Laplace's method, from u at the knots in `implicit`, which loses Lambda A q. */
void move_chain(Structured *s, const Evaluation *e, const double *q)
{
    solve_chain(e->chain, 1, s->implicit, s->moved);
    for (int k = 0; k < e->chain->knots; k++)
        s->implicit[k] -= dot(e->p, s->U + k * (1l + e->p) + 1, q);
}

/* The gradient in the parameters of the chain, (STR6); `implicit`: whether Laplace's columns enter. */
void slope_structured(Structured *s, const Evaluation *e, int implicit, double *inverse)
{
    int p = e->p, first = implicit ? 2 : 1, k = first + p, N = e->chain->knots;
    double *more = s->V0_U; /* not needed again */
    for (int i = 0; i < N; i++) {
        const double *U = s->U + i * (1l + p);
        double *row = s->columns + (long)i * k;
        row[0] = U[0] - dot(p, U + 1, e->w) + (implicit ? s->implicit[i] : 0);
        if (implicit)
            row[1] = s->implicit[i];
        memcpy(more + (long)i * p, U + 1, sizeof(double) * p);
    }
    if (p)
        lib.dtrmm("L", "L", "N", "N", &p, &N, &one, inverse, &p, more, &p);
    for (int i = 0; i < N; i++)
        memcpy(s->columns + (long)i * k + first, more + (long)i * p, sizeof(double) * p);
    for (int j = 0; j < k; j++)
        s->signs[j] = implicit && j == 1 ? -1 : 1;
    slope_chain(e->chain, k, s->columns, s->signs, e->chain_gradient);
}
