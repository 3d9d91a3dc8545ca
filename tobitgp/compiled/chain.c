/* Markov chains of Gaussian states given sites, one knot after the other: priors/markov.py and numerics/chain.py.

   The filter runs forward in covariances, the backward pass in information, so that neither C nor a moment is inverted;
   as neither needs the other, both take their steps in turn. Square matrices are in C order. */
#include <math.h>
#include <string.h>
#include "core.h"

#define INLINE static inline __attribute__((always_inline))
#define AT(matrices, i) ((matrices) + (long)(i) * S * S)
enum { MOST = MOST_STATES * MOST_STATES, PLACES_AT_ONCE = 16 };

/* Of priors/markov.py; q, F + I and g by powers of u of (MKV1) and (MKV2), by smoothness. */
static const double FAR = 1000, q[3] = {2, 4, 16. / 3};
static const double SHIFTED[3][9] = {{0}, {1, 1, -1, -1}, {1, 1, 0, 0, 1, 1, -1, -3, -2}};
static const double POLYNOMIALS[3][9] = {{1}, {0, 1, 1, -1}, {0, 0, .5, 0, 1, -.5, 1, -2, .5}};

/* A B of square matrices. */
INLINE void multiply(int S, const double *A, const double *B, double *out)
{
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++) {
            double sum = 0;
            for (int k = 0; k < S; k++)
                sum += A[i * S + k] * B[k * S + j];
            out[i * S + j] = sum;
        }
}

/* A X A' + C, symmetric; with `turned` A' X A + C. */
INLINE void carry(int S, int turned, const double *A, const double *X, const double *C, double *out)
{
    double AX[MOST];
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++) {
            double sum = 0;
            for (int k = 0; k < S; k++)
                sum += A[turned ? k * S + i : i * S + k] * X[k * S + j];
            AX[i * S + j] = sum;
        }
    for (int i = 0; i < S; i++)
        for (int j = 0; j <= i; j++) {
            double sum = C[i * S + j];
            for (int k = 0; k < S; k++)
                sum += AX[i * S + k] * A[turned ? k * S + j : j * S + k];
            out[i * S + j] = out[j * S + i] = sum;
        }
}

/* (I + C J)^-1, by cofactors where few, else by elimination with pivots; whether its determinant is positive. */
INLINE int invert_beside_identity(int S, const double *C, const double *J, double *out)
{
    double M[MOST];
    int positive = 1;
    multiply(S, C, J, M);
    for (int i = 0; i < S; i++)
        M[i * S + i] += 1;
    if (S <= 3) {
        double det = 0;
        for (int i = 0; i < S; i++)
            for (int j = 0; j < S; j++) {
                int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
                out[j * S + i] = S == 1   ? 1
                                 : S == 2 ? (i == j ? 1 : -1) * M[(1 - i) * S + 1 - j]
                                          : M[a * S + c] * M[b * S + d] - M[a * S + d] * M[b * S + c];
            }
        for (int j = 0; j < S; j++)
            det += M[j] * out[j * S];
        for (int i = 0; i < S * S; i++)
            out[i] *= 1 / det;
        return det > 0;
    }
    memset(out, 0, sizeof(double) * S * S);
    for (int i = 0; i < S; i++)
        out[i * S + i] = 1;
    for (int k = 0; k < S; k++) {
        int best = k;
        for (int i = k + 1; i < S; i++)
            best = fabs(M[i * S + k]) > fabs(M[best * S + k]) ? i : best;
        for (int j = 0; best != k && j < S; j++) {
            double m = M[k * S + j], o = out[k * S + j];
            M[k * S + j] = M[best * S + j], M[best * S + j] = m;
            out[k * S + j] = out[best * S + j], out[best * S + j] = o;
        }
        double inverse = 1 / M[k * S + k];
        positive ^= (best != k) ^ !(inverse > 0);
        for (int j = 0; j < S; j++)
            M[k * S + j] *= inverse, out[k * S + j] *= inverse;
        for (int i = 0; i < S; i++) {
            double share = M[i * S + k];
            for (int j = 0; i != k && j < S; j++)
                M[i * S + j] -= share * M[k * S + j], out[i * S + j] -= share * out[k * S + j];
        }
    }
    return positive && isfinite(out[0]);
}

/* g of (MKV2) without its exponential. */
INLINE void components(int S, double u, double *g)
{
    for (int a = 0; a < S; a++) {
        g[a] = 0;
        for (int k = S - 1; k >= 0; k--)
            g[a] = g[a] * u + POLYNOMIALS[S - 1][a * S + k];
    }
}

/* The lower incomplete gamma function of a whole number K at x, with exp(-x). */
INLINE double lower_gamma(int K, double x, double decay)
{
    double term = 1, sum = 1, factorial = 1, power = x;
    if (x < K) {
        for (int n = 1; term > 1e-17 * sum; n++)
            sum += term *= x / (K + n);
        for (int k = 1; k < K; k++)
            power *= x;
        return power * decay * sum / K;
    }
    for (int k = 1; k < K; k++) {
        sum += term *= x / k;
        factorial *= k;
    }
    return factorial * (1 - decay * sum);
}

/* Phi and C of one Matern process over u, (MKV1) and (MKV2), in matrices whose rows are `stride` apart. */
INLINE void matern(int p, double u, double variance, int stride, double *Phi, double *C)
{
    int S = p + 1, K = 2 * p + 1;
    double term[9], next[9], g[3], powers[5] = {1}, I[5], decay = exp(-u), square = decay * decay;
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++)
            Phi[i * stride + j] = term[i * S + j] = i == j ? decay : 0;
    for (int k = 1; k < S; k++) {
        multiply(S, term, SHIFTED[p], next);
        for (int i = 0; i < S; i++)
            for (int j = 0; j < S; j++)
                Phi[i * stride + j] += term[i * S + j] = next[i * S + j] * u / k;
    }
    components(S, u, g);
    I[K - 1] = lower_gamma(K, 2 * u, square) / (1 << K); /* of t^k exp(-2 t) from 0 to u; by parts, terms positive */
    for (int k = 1; k < K; k++)
        powers[k] = powers[k - 1] * u;
    for (int k = K - 1; k > 0; k--)
        I[k - 1] = (2 * I[k] + powers[k] * square) / k;
    for (int a = 0; a < S; a++)
        for (int b = a; b < S; b++) {
            double sum = 0;
            for (int j = 0; j < S; j++)
                for (int k = 0; k < S; k++)
                    sum += POLYNOMIALS[p][a * S + j] * POLYNOMIALS[p][b * S + k] * I[j + k];
            if (b == a + 1)
                sum = .5 * g[a] * g[a] * square;
            C[a * stride + b] = C[b * stride + a] = q[p] * variance * sum;
        }
}

INLINE void fill_term(int p, int S, long n, const double *gap, double kappa, double variance, double *Phi, double *C)
{
    for (long i = 0; i < n; i++)
        matern(p, smaller(kappa * gap[i], FAR), variance, S, AT(Phi, i), AT(C, i));
}

/* The first state of each term, of which f is the sum, and after all the number of states. */
static void find_states(const Chain *c, int *first)
{
    first[0] = 0;
    for (int t = 0; t < c->terms; t++)
        first[t + 1] = first[t] + (c->smoothness[t] < 0 ? 1 : c->smoothness[t] + 1);
}

/* Transitions (n, S, S) over gaps. */
static void fill_transitions(const Chain *c, long n, const double *gap, double *Phi, double *C)
{
    int S = c->states, first[MOST_STATES + 1];
    find_states(c, first);
    memset(Phi, 0, sizeof(double) * n * S * S);
    memset(C, 0, sizeof(double) * n * S * S);
    const double *theta = c->theta;
    for (int t = 0; t < c->terms; t++) {
        int p = c->smoothness[t], at = first[t] * S + first[t];
        double variance = exp(2 * theta[0]), kappa = p < 0 ? 0 : sqrt(2 * p + 1) * exp(-theta[1]);
        if (p == 0)
            fill_term(0, S, n, gap, kappa, variance, Phi + at, C + at);
        else if (p == 1)
            fill_term(1, S, n, gap, kappa, variance, Phi + at, C + at);
        else if (p == 2)
            fill_term(2, S, n, gap, kappa, variance, Phi + at, C + at);
        for (long i = 0; p < 0 && i < n; i++) {
            AT(Phi, i)[at] = isfinite(gap[i]);
            AT(C, i)[at] = isfinite(gap[i]) ? 0 : variance;
        }
        theta += p < 0 ? 1 : 2;
    }
}

/* Transitions to all knots. */
void fix_chain(const Chain *c) { fill_transitions(c, c->knots, c->gap, c->Phi, c->C); }

INLINE double read_state(int terms, const int *h, const double *x)
{
    double sum = x[h[0]];
    for (int t = 1; t < terms; t++)
        sum += x[h[t]];
    return sum;
}

/* A covariance given a site on f, not in place, and k c of (MKV5) in `gain`; gives 1 / k. */
INLINE double meet_site(int S, int terms, const int *h, const double *prior, double lambda2, double *gain, double *out)
{
    double c[MOST_STATES];
    for (int a = 0; a < S; a++) {
        c[a] = prior[a * S + h[0]];
        for (int t = 1; t < terms; t++)
            c[a] += prior[a * S + h[t]];
    }
    double size = 1 + lambda2 * read_state(terms, h, c), k = 1 / size;
    for (int a = 0; a < S; a++)
        gain[a] = k * c[a];
    for (int a = 0; a < S; a++)
        for (int b = 0; b < S; b++)
            out[a * S + b] = prior[a * S + b] - lambda2 * c[a] * gain[b];
    for (int a = 0; a < S && terms == 1; a++) /* where the difference would lose digits */
        out[a * S + h[0]] = out[h[0] * S + a] = gain[a];
    return size;
}

/* The filtered covariance at a knot from that one knot before, and 1 + lambda2 h'P^-h. */
INLINE double step_forward(int S, int terms, const int *h, const Chain *c, int i)
{
    double predicted[MOST];
    carry(S, 0, AT(c->Phi, i), AT(c->P, i), AT(c->C, i), predicted);
    return meet_site(S, terms, h, predicted, c->lambda2[i], c->gain + (long)i * S, AT(c->P, i + 1));
}

/* G of (MKV8) from the information `next` at the end of a transition, with the site there the element of (MKV5); g
   becomes `back` g + lambda1 `site`, (MKV9). */
INLINE int step_back(int S, int terms, const int *h, const double *Phi, const double *noise, double lambda2,
                     const double *next, double *G, double *back, double *site)
{
    double gain[MOST_STATES], phi[MOST_STATES], A[MOST], C[MOST], J[MOST], E[MOST], GE[MOST];
    double k = 1 / meet_site(S, terms, h, noise, lambda2, gain, C);
    for (int b = 0; b < S; b++) {
        phi[b] = Phi[h[0] * S + b];
        for (int t = 1; t < terms; t++)
            phi[b] += Phi[h[t] * S + b];
    }
    for (int a = 0; a < S; a++)
        for (int b = 0; b < S; b++) {
            A[a * S + b] = terms == 1 && a == h[0] ? k * phi[b] : Phi[a * S + b] - lambda2 * gain[a] * phi[b];
            J[a * S + b] = lambda2 * k * phi[a] * phi[b];
        }
    int done = invert_beside_identity(S, C, next, E) && k > 0;
    multiply(S, next, E, GE);
    carry(S, 1, A, GE, J, G);
    for (int a = 0; a < S; a++) {
        site[a] = k * phi[a];
        for (int b = 0; b < S; b++) {
            double sum = 0, along = 0;
            for (int j = 0; j < S; j++) {
                sum += A[j * S + a] * E[b * S + j];
                along += A[j * S + a] * GE[j * S + b];
            }
            back[a * S + b] = sum;
            site[a] -= along * gain[b];
        }
    }
    return done;
}

/* How f depends on mu and g, (MKV10), and its variance; whether there is one. */
INLINE int meet(int S, int terms, const int *h, const double *P, const double *G, double *by_mu, double *by_g,
                double *variance)
{
    double E[MOST];
    int done = invert_beside_identity(S, P, G, E);
    for (int a = 0; a < S; a++) {
        by_mu[a] = E[h[0] * S + a];
        for (int t = 1; t < terms; t++)
            by_mu[a] += E[h[t] * S + a];
    }
    for (int a = 0; a < S; a++) {
        by_g[a] = 0;
        for (int b = 0; b < S; b++)
            by_g[a] += by_mu[b] * P[b * S + a];
    }
    *variance = read_state(terms, h, by_g);
    return done;
}

/* As condition_chain; (MKV7) is the filter's. */
INLINE int condition_states(int S, int terms, const int *h, Chain *c)
{
    int N = c->knots, done = 1;
    double unused[MOST];
    memset(c->P, 0, sizeof(double) * S * S);
    memset(AT(c->G, N - 1), 0, sizeof(double) * S * S);
    for (int i = 0, j = N - 1; i < N; i++, j--) {
        c->variance[i] = step_forward(S, terms, h, c, i); /* until its logarithm is taken */
        done &= c->variance[i] > 0;
        done &= step_back(S, terms, h, AT(c->Phi, j), AT(c->C, j), c->lambda2[j], AT(c->G, j),
                          j ? AT(c->G, j - 1) : unused, AT(c->back, j), c->site + (long)j * S);
    }
    if (!done)
        return 0;
    fill_log(c->variance, N);
    c->log_det = 0;
    for (int i = 0; i < N; i++)
        c->log_det += c->variance[i];
    for (int i = 0; i < N; i++)
        done &= meet(S, terms, h, AT(c->P, i + 1), AT(c->G, i), c->by_mu + (long)i * S, c->by_g + (long)i * S,
                     c->variance + i);
    return done;
}

/* As carry_columns, of `some` columns next to each other. */
INLINE void pass_some(int S, int terms, const int *h, const Chain *c, int some, int k, int stride, const double *U,
                      double *mu, double *g)
{
    int N = c->knots;
    double now[2 * MOST_STATES] = {0}, next[2 * MOST_STATES];
    for (int i = 0; i <= N; i++) {
        for (int a = 0; a < some * S; a++)
            mu[(long)i * k * S + a] = now[a];
        const double *Phi = AT(c->Phi, i), *gain = c->gain + (long)i * S;
        for (int j = 0; j < some && i < N; j++) {
            double *to = next + j * S;
            for (int a = 0; a < S; a++) {
                to[a] = 0;
                for (int b = 0; b < S; b++)
                    to[a] += Phi[a * S + b] * now[j * S + b];
            }
            double surprise = U[(long)i * stride + j] - c->lambda2[i] * read_state(terms, h, to);
            for (int a = 0; a < S; a++)
                to[a] += gain[a] * surprise;
        }
        for (int a = 0; a < some * S; a++)
            now[a] = next[a];
    }
    memset(now, 0, sizeof(double) * some * S);
    for (int i = N - 1; i >= 0; i--) {
        const double *back = AT(c->back, i), *site = c->site + (long)i * S;
        for (int a = 0; a < some * S; a++)
            g[(long)i * k * S + a] = now[a];
        for (int j = 0; j < some; j++)
            for (int a = 0; a < S; a++) {
                double *to = next + j * S + a;
                *to = U[(long)i * stride + j] * site[a];
                for (int b = 0; b < S; b++)
                    *to += back[a * S + b] * now[j * S + b];
            }
        for (int a = 0; a < some * S; a++)
            now[a] = next[a];
    }
}

INLINE void pass_columns(int S, int terms, const int *h, const Chain *c, int k, int stride, const double *U, double *mu,
                         double *g)
{
    int j = 0;
    for (; j + 1 < k; j += 2)
        pass_some(S, terms, h, c, 2, k, stride, U + j, mu + j * S, g + j * S);
    if (j < k)
        pass_some(S, terms, h, c, 1, k, stride, U + j, mu + j * S, g + j * S);
}

/* Means of f (knots, k), rows of both columns `stride` apart. */
INLINE void read_columns(int S, const Chain *c, int k, int stride, const double *mu, const double *g, double *f)
{
    for (int i = 0; i < c->knots; i++) {
        const double *by_mu = c->by_mu + (long)i * S, *by_g = c->by_g + (long)i * S;
        for (int j = 0; j < k; j++) {
            const double *m = mu + ((long)(i + 1) * k + j) * S, *back = g + ((long)i * k + j) * S;
            double sum = 0;
            for (int a = 0; a < S; a++)
                sum += by_mu[a] * m[a] + by_g[a] * back[a];
            f[(long)i * stride + j] = sum;
        }
    }
}

/* X and W of (MKV11) at one knot from some columns; `first`: whether R is to be taken off too. */
INLINE void weigh(int S, int terms, const int *h, const Chain *c, int i, int k, int stride, const double *U,
                  const double *signs, int first, const double *mu, const double *g, double *X, double *W)
{
    const double *Phi = AT(c->Phi, i), *G = AT(c->G, i), *gain = c->gain + (long)i * S;
    double D[MOST], R[MOST], WPhi[MOST], lambda2 = c->lambda2[i];
    invert_beside_identity(S, AT(c->P, i + 1), G, D);
    for (int a = 0; a < S; a++) {
        double lost = 0;
        for (int b = 0; b < S; b++)
            lost += D[a * S + b] * gain[b];
        for (int t = 0; t < terms; t++)
            D[a * S + h[t]] -= lambda2 * lost; /* (I + P^- J^+)^-1 */
    }
    multiply(S, G, D, R);
    for (int b = 0; b < S; b++) {
        double sum = D[h[0] * S + b];
        for (int t = 1; t < terms; t++)
            sum += D[h[t] * S + b];
        for (int t = 0; t < terms; t++)
            R[h[t] * S + b] += lambda2 * sum;
    }
    for (int a = 0; a < S * S; a++)
        W[a] = first ? -R[a] : 0, X[a] = 0;
    mu += (long)i * k * S, g += (long)i * k * S;
    for (int j = 0; j < k; j++, mu += S, g += S) {
        double ahead[MOST_STATES], eta[MOST_STATES], rho[MOST_STATES];
        for (int a = 0; a < S; a++) {
            ahead[a] = 0;
            for (int b = 0; b < S; b++)
                ahead[a] += Phi[a * S + b] * mu[b];
        }
        for (int a = 0; a < S; a++) {
            eta[a] = g[a];
            for (int b = 0; b < S; b++)
                eta[a] -= G[a * S + b] * ahead[b];
        }
        double surprise = U[(long)i * stride + j] - lambda2 * read_state(terms, h, ahead);
        for (int t = 0; t < terms; t++)
            eta[h[t]] += surprise;
        for (int a = 0; a < S; a++) {
            rho[a] = 0;
            for (int b = 0; b < S; b++)
                rho[a] += D[b * S + a] * eta[b];
        }
        for (int a = 0; a < S; a++)
            for (int b = 0; b < S; b++) {
                X[a * S + b] += signs[j] * rho[a] * mu[b];
                W[a * S + b] += signs[j] * rho[a] * rho[b];
            }
    }
    multiply(S, W, Phi, WPhi);
    multiply(S, WPhi, AT(c->P, i), R);
    for (int a = 0; a < S * S; a++)
        X[a] += R[a];
}

/* Add tr(X' dPhi) + 1/2 tr(W dC) at one knot by a term's log sd and log length-scale, (MKV3). */
INLINE void add_slopes_at(int p, int stride, double u, double variance, const double *Phi, const double *C,
                          const double *X, const double *W, double *gradient)
{
    double by_C = 0, g[3], square = exp(-2 * u);
    components(p + 1, u, g);
    for (int a = 0; a <= p; a++)
        for (int b = 0; b <= p; b++) {
            double slope = -Phi[a * stride + b]; /* F Phi */
            for (int k = 0; k <= p; k++)
                slope += SHIFTED[p][a * (p + 1) + k] * Phi[k * stride + b];
            gradient[0] += W[a * stride + b] * C[a * stride + b];
            gradient[1] -= u * slope * X[a * stride + b];
            by_C += W[a * stride + b] * g[a] * g[b];
        }
    gradient[1] -= .5 * q[p] * variance * square * u * by_C;
}

INLINE void add_slopes_of(int S, int terms, const int *h, const Chain *c, int k, int stride, const double *U,
                          const double *signs, int with_R, const double *mu, const double *g, double *gradient)
{
    double X[MOST], W[MOST], kappa[MOST_STATES] = {0}, variance[MOST_STATES];
    const double *theta = c->theta;
    for (int t = 0; t < terms; t++) {
        variance[t] = exp(2 * theta[0]);
        if (c->smoothness[t] >= 0)
            kappa[t] = sqrt(2 * c->smoothness[t] + 1) * exp(-theta[1]);
        theta += c->smoothness[t] < 0 ? 1 : 2;
    }
    for (int i = 0; i < c->knots; i++) {
        weigh(S, terms, h, c, i, k, stride, U, signs, with_R, mu, g, X, W);
        double *out = gradient;
        for (int t = 0; t < terms; t++) {
            int at = h[t] * S + h[t], p = terms == 1 ? S - 1 : c->smoothness[t];
            double u = smaller(kappa[t] * c->gap[i], FAR);
            if (p < 0)
                *out += W[at] * AT(c->C, i)[at];
            else
                add_slopes_at(p, S, u, variance[t], AT(c->Phi, i) + at, AT(c->C, i) + at, X + at, W + at, out);
            out += p < 0 ? 1 : 2;
        }
    }
}

/* As smooth_chain, at a few places. */
INLINE void smooth_some(int S, int terms, const int *h, const Chain *c, int k, const double *U, const double *mu,
                        const double *g, const Places *at, long from, int some, double *f, double *variance)
{
    double Phi[PLACES_AT_ONCE * MOST], C[PLACES_AT_ONCE * MOST];
    double to_next[PLACES_AT_ONCE * MOST], noise[PLACES_AT_ONCE * MOST];
    double P[MOST], G[MOST], back[MOST], site[MOST_STATES], by_mu[MOST_STATES], by_g[MOST_STATES];
    int shown[MOST_STATES] = {0}, n_shown = 0;
    for (int t = 0; t < terms; t++)
        if (at->shown[t])
            shown[n_shown++] = h[t];
    fill_transitions(c, some, at->from_left + from, Phi, C);
    fill_transitions(c, some, at->to_right + from, to_next, noise);
    for (int n = 0; n < some; n++) {
        long i = at->left[from + n], j = at->right[from + n];
        double *out = f + (from + n) * k;
        carry(S, 0, AT(Phi, n), AT(c->P, i + 1), AT(C, n), P);
        step_back(S, terms, h, AT(to_next, n), AT(noise, n), c->lambda2[j], AT(c->G, j), G, back, site);
        meet(S, n_shown, shown, P, G, by_mu, by_g, variance + from + n);
        for (int l = 0; l < k; l++) {
            const double *m = mu + ((i + 1) * k + l) * S, *ahead = g + (j * k + l) * S;
            out[l] = 0;
            for (int a = 0; a < S; a++) {
                double here = U[j * k + l] * site[a], filtered = 0;
                for (int b = 0; b < S; b++) {
                    here += back[a * S + b] * ahead[b];
                    filtered += AT(Phi, n)[a * S + b] * m[b];
                }
                out[l] += by_mu[a] * filtered + by_g[a] * here;
            }
        }
    }
}

/* Functions by the number of states, where one term makes them few. */
#define SPECIALISED(function, c, first, ...)                                                              \
    ((c)->terms > 1        ? function((c)->states, (c)->terms, first, __VA_ARGS__)                        \
     : (c)->states == 1    ? function(1, 1, first, __VA_ARGS__)                                           \
     : (c)->states == 2    ? function(2, 1, first, __VA_ARGS__)                                           \
                           : function(3, 1, first, __VA_ARGS__))

/* Condition on the precisions of the sites; 0 where these leave no posterior. */
VECTORISED int condition_chain(Chain *c)
{
    int first[MOST_STATES + 1];
    find_states(c, first);
    return SPECIALISED(condition_states, c, first, c);
}

/* Filtered means one knot before (knots + 1, k, S) and backward information, own site excluded, (knots, k, S), from
   natural means U (knots, k) whose rows are `stride` apart; (MKV9). */
VECTORISED void carry_columns(const Chain *c, int k, int stride, const double *U, double *mu, double *g)
{
    int first[MOST_STATES + 1];
    find_states(c, first);
    SPECIALISED(pass_columns, c, first, c, k, stride, U, mu, g);
}

/* V0 U, (knots, k). */
VECTORISED void solve_chain(const Chain *c, int k, const double *U, double *out)
{
    for (int from = 0; from < k; from += COLUMNS_AT_ONCE) {
        int some = k - from < COLUMNS_AT_ONCE ? k - from : COLUMNS_AT_ONCE;
        double *mu = c->columns, *g = mu + (c->knots + 1l) * some * c->states;
        carry_columns(c, some, k, U + from, mu, g);
        read_columns(c->states, c, some, k, mu, g, out + from);
    }
}

/* (STR6) by the parameters of all terms; the squares of columns U (knots, k) count with their signs. */
VECTORISED void slope_chain(const Chain *c, int k, const double *U, const double *signs, double *gradient)
{
    int first[MOST_STATES + 1], parameters = 0;
    find_states(c, first);
    for (int t = 0; t < c->terms; t++)
        parameters += c->smoothness[t] < 0 ? 1 : 2;
    memset(gradient, 0, sizeof(double) * parameters);
    for (int from = 0; from < k || from == 0; from += COLUMNS_AT_ONCE) {
        int some = k - from < COLUMNS_AT_ONCE ? k - from : COLUMNS_AT_ONCE;
        double *mu = c->columns, *g = mu + (c->knots + 1l) * some * c->states;
        carry_columns(c, some, k, U + from, mu, g);
        SPECIALISED(add_slopes_of, c, first, c, some, k, U + from, signs + from, from == 0, mu, g, gradient);
    }
}

/* V0 U (n, k) and the variance at places between knots, from columns carried there. */
VECTORISED void smooth_chain(const Chain *c, int k, const double *U, const double *mu, const double *g,
                             const Places *at, double *f, double *variance)
{
    int first[MOST_STATES + 1];
    find_states(c, first);
    for (long from = 0; from < at->n; from += PLACES_AT_ONCE) {
        int some = at->n - from < PLACES_AT_ONCE ? at->n - from : PLACES_AT_ONCE;
        SPECIALISED(smooth_some, c, first, c, k, U, mu, g, at, from, some, f, variance);
    }
}
