/* Noise that is not normal: density and tails of a value, and what they make of a row; distributions/ and
   likelihoods/row_terms.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

static const double NARROW = -.5;                          /* of likelihoods/row_terms.py */
static const double LARGEST = 300, REST = 1e6, SHORT = .5; /* of distributions/gumbel.py */
static const double TINY = 1e-280;                         /* of numerics/student_t.py */
static const double FARTHEST = 12;                         /* of the table of Student's t */
static const double SMALL = 3e-3, FAR_TEMME = .15;         /* of distributions/gengamma.py */
static const double FACTORIAL[14] = {1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
                                     1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800, 1. / 87178291200,
                                     1. / 1307674368000};  /* from 2 on */
enum { TERMS = 14, DEPTH = 40 };

/* Central differences of fourth order: weights of the values at -2, -1, 1 and 2 steps. */
const double PLACES[4] = {-2, -1, 1, 2}, WEIGHTS[4] = {1. / 12, -8. / 12, 8. / 12, -1. / 12}, SHAPE_STEP = .01;

static double log1mexp(double x) /* log(1 - e^x), x < 0 */
{
    return x > -.6931 ? log(-expm1(x)) : log1p(-exp(x));
}

/* Probability of one tail of Student's t beyond the root of `square`, where it is no number: DLMF 8.17.22. */
static double log_far_tail(double square, double df)
{
    double a = .5 * df, b = .5, x = 1 / (1 + square / df), c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), out = d;
    for (int m = 1; m < 500; m++) {
        double more = 0;
        for (int half = 0; half < 2; half++) {
            double step = half ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                               : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 / (1 + step * d);
            c = 1 + step / c;
            more = d * c;
            out *= more;
        }
        if (fabs(more - 1) <= 1e-15)
            break;
    }
    double log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
    return -a * log1p(square / df) - b * log1p(df / square) - log(a) - log_beta + log(.5 * out);
}

/* Log cdf of Student's t left of 0. */
static double log_lower_tail(double z, double df)
{
    double square = z * z;
    double tail = .5 * (square < df ? lib.betaincc(.5, .5 * df, square / (df + square), 0)
                                    : lib.betainc(.5 * df, .5, df / (df + square), 0));
    return tail < TINY ? log_far_tail(square, df) : log(tail);
}

static double centre_of(double df)
{
    return smaller(1, sqrt(df));
}

/* A polynomial of degree 5 between two knots, at which it has their values and two derivatives. */
static inline double in_cell(const double *a, double x)
{
    const double *b = a + 3;
    double rise = b[0] - a[0] - a[1] - a[2], turn = b[1] - a[1] - 2 * a[2], bend = 2 * (b[2] - a[2]);
    double cubic = 10 * rise - 4 * turn + .5 * bend, quartic = -15 * rise + 7 * turn - bend;
    double quintic = 6 * rise - 3 * turn + .5 * bend;
    return a[0] + x * (a[1] + x * (a[2] + x * (cubic + x * (quartic + x * quintic))));
}

/* The same from the table, to some 1e-10. */
static double tabulated_tail(const Noise *noise, double z)
{
    double place = (asinh(z / centre_of(noise->shape)) + FARTHEST) * (CELLS / FARTHEST);
    if (place < 0)
        return log_lower_tail(z, noise->shape);
    int cell = place < CELLS - 1 ? (int)place : CELLS - 1;
    return in_cell(noise->tail + 3 * cell, place - cell);
}

static double student_log_cdf(const Noise *noise, double z)
{
    return z > 0 ? log1p(-exp(tabulated_tail(noise, -z))) : tabulated_tail(noise, z);
}

/* e^z with two derivatives, and its parabola far right. */
static void steep(double z, double out[3])
{
    double held = exp(smaller(z, LARGEST)), beyond = smaller(larger(z - LARGEST, 0), REST);
    out[0] = held * (1 + beyond * (1 + .5 * beyond));
    out[1] = held * (1 + beyond);
    out[2] = held;
}

/* (e^v - 1 - v) / v^2. */
static double second(double v)
{
    if (fabs(v) >= SHORT)
        return (expm1(v) - v) / (v * v);
    double sum = 0;
    for (int k = TERMS - 1; k >= 0; k--)
        sum = FACTORIAL[k] + sum * v;
    return sum;
}

/* Log density of generalised gamma times and two derivatives; distributions/gengamma.py. */
static void gengamma_density(const Noise *noise, double z, double out[3])
{
    double q = noise->shape, v = q * z, w[3];
    if (fabs(v) < SHORT) {
        double sum = second(v);
        out[0] = noise->log_norm - z * z * sum;
        out[1] = -z * (1 + v * sum);
        out[2] = -(1 + v * (1 + v * sum));
        return;
    }
    steep(v, w);
    out[0] = noise->log_norm - (w[0] - 1 - v) / (q * q);
    out[1] = (1 - w[1]) / q;
    out[2] = -w[2];
}

/* Log density and two derivatives. */
static void log_density(const Noise *noise, double z, double out[3])
{
    if (noise->distribution == GENGAMMA) {
        gengamma_density(noise, z, out);
        return;
    }
    if (noise->distribution == TRUNCATED_NORMAL) {
        out[0] = -HALF_LOG_2PI - .5 * z * z;
        out[1] = -z;
        out[2] = -1;
    } else if (noise->distribution == LOGISTIC) {
        double small = exp(-fabs(z)), below = 1 / (1 + exp(-z)), above = 1 / (1 + exp(z));
        out[0] = -fabs(z) - 2 * log1p(small);
        out[1] = -tanh(.5 * z);
        out[2] = -2 * below * above;
    } else if (noise->distribution == GUMBEL) {
        double w[3];
        steep(z, w);
        out[0] = z - w[0];
        out[1] = 1 - w[1];
        out[2] = -w[2];
    } else {
        double df = noise->shape, square = z * z, u = 1 / (df + square);
        out[0] = noise->log_norm - .5 * (df + 1) * log1p(square / df);
        out[1] = -(df + 1) * z * u;
        out[2] = -(df + 1) * u * (df * u - square * u);
    }
}

/* Log of a normal tail beyond z with Temme's correction, for a small |Q|. */
static double temme_tail(double z, double q, double sign)
{
    static const double C0[6] = {-1. / 3, 1. / 12, -2. / 135, 1. / 864, 1. / 2835, -139. / 777600};
    double v = q * z, ratio = sqrt(2 * second(v)), x = sign * z * ratio, eta = v * ratio, c0 = 0, c1 = -1. / 540 - eta / 288, h, delta;
    for (int k = 5; k >= 0; k--)
        c0 = C0[k] + eta * c0;
    if (fabs(eta) > FAR_TEMME) {
        double rise = expm1(v);
        c0 = 1 / rise - 1 / eta;
        c1 = 1 / (eta * eta * eta) - 1 / (rise * rise * rise) - 1 / (rise * rise) - 1 / (12 * rise);
    }
    mills(x, &h, &delta);
    return lib.log_ndtr(x, 0) + log1p(-sign * h * q * (c0 + c1 * q * q));
}

/* Log probability beyond z on its own side of 0, Q > 0. */
static double gengamma_own_tail(const Noise *noise, double z, int upper)
{
    double q = noise->shape, u = 1 / (q * q), density[3], sum = 1, term = 1;
    if (q < SMALL)
        return temme_tail(z, q, upper ? -1 : 1);
    double x = u * exp(q * z), p = (upper ? lib.gammaincc : lib.gammainc)(u, x, 0);
    if (upper || p > TINY)
        return log(p);
    for (int n = 1; n < 2000 && term > 1e-17 * sum; n++)
        sum += term *= x / (u + n);
    gengamma_density(noise, z, density);
    return density[0] + log(q * sum);
}

/* Log survival function (upper) or cdf of generalised gamma times with Q > 0, and two derivatives. */
static void gengamma_tail(const Noise *noise, double z, int upper, double out[3])
{
    double density[3], own, more = 0, sign = upper ? -1 : 1;
    gengamma_density(noise, z, density);
    if (z > noise->far) {
        for (int n = DEPTH; n > 0; n--)
            more = n * (1 - n * noise->shape * noise->shape) / (noise->shape * (2 * n + 1) - density[1] + more);
        more += noise->shape;
        own = density[0] - log(more - density[1]);
        if (upper) {
            out[0] = own;
            out[1] = density[1] - more;
            out[2] = out[1] * more;
            return;
        }
    } else if (z > 0) {
        double place = z * (CELLS / noise->far);
        int cell = place < CELLS - 1 ? (int)place : CELLS - 1;
        own = in_cell(noise->short_tail + 3 * cell, place - cell);
    } else {
        double place = (asinh(z) + FARTHEST) * (CELLS / FARTHEST);
        int cell = place < CELLS - 1 ? (int)place : CELLS - 1;
        own = place < 0 ? gengamma_own_tail(noise, z, 0) : in_cell(noise->tail + 3 * cell, place - cell);
    }
    out[0] = (z > 0) == upper ? own : log1p(-exp(own));
    out[1] = sign * exp(density[0] - out[0]);
    out[2] = out[1] * (density[1] - out[1]);
}

/* The same for any Q: those below 0 are mirror images. */
static void gengamma_tails(const Noise *noise, double z, int upper, double out[3])
{
    if (noise->shape > 0) {
        gengamma_tail(noise, z, upper, out);
        return;
    }
    Noise mirrored = *noise;
    mirrored.shape = -noise->shape;
    gengamma_tail(&mirrored, -z, !upper, out);
    out[1] = -out[1];
}

/* Log cdf and two derivatives. */
void lower_tail(const Noise *noise, double z, double out[3])
{
    if (noise->distribution == GENGAMMA) {
        gengamma_tails(noise, z, 0, out);
        return;
    }
    if (noise->distribution == TRUNCATED_NORMAL) {
        double h, delta;
        mills(z, &h, &delta);
        out[0] = lib.log_ndtr(z, 0);
        out[1] = h;
        out[2] = -h * delta;
    } else if (noise->distribution == LOGISTIC) {
        double above = 1 / (1 + exp(z));
        out[0] = z < 0 ? z - log1p(exp(z)) : -log1p(exp(-z));
        out[1] = above;
        out[2] = -above / (1 + exp(-z));
    } else if (noise->distribution == GUMBEL) {
        static const double BERNOULLI[6] = {-1. / 2, -1. / 12, 1. / 720, -1. / 30240, 1. / 1209600, -1. / 47900160};
        double w = larger(exp(smaller(z, LARGEST)), 1e-300), d1 = -w * exp(-w) / expm1(-w), gap = 1 - w - d1;
        if (w < SHORT) {
            double series = BERNOULLI[5];
            for (int k = 4; k > 0; k--)
                series = series * w * w + BERNOULLI[k];
            gap = w * (BERNOULLI[0] + w * series);
        }
        out[0] = z < 0 ? z + log(-expm1(-w) / w) : log1p(-exp(-w));
        out[1] = d1;
        out[2] = d1 * gap;
    } else {
        double density[3];
        log_density(noise, z, density);
        out[0] = student_log_cdf(noise, z);
        out[1] = exp(density[0] - out[0]);
        out[2] = out[1] * (density[1] - out[1]);
    }
}

/* Log survival function and two derivatives. */
static void upper_tail(const Noise *noise, double z, double out[3])
{
    if (noise->distribution == GENGAMMA) {
        gengamma_tails(noise, z, 1, out);
        return;
    }
    if (noise->distribution == GUMBEL) {
        steep(z, out);
        for (int k = 0; k < 3; k++)
            out[k] = -out[k];
        return;
    }
    lower_tail(noise, -z, out);
    out[1] = -out[1];
}

static Terms chain(double z, const double d[3], double s)
{
    double mixed = d[1] + z * d[2];
    return (Terms){d[0], -d[1] / s, d[2] / (s * s), -z * d[1], mixed / s};
}

/* log(exp P - exp Q), Q < P. */
static Terms difference(Terms P, Terms Q)
{
    double gap = Q.value - P.value, kappa = -exp(gap) / expm1(gap), bend = kappa * (1 + kappa);
    double eta = Q.eta - P.eta, tau = Q.tau - P.tau;
    return (Terms){
        P.value + log1mexp(gap),
        P.eta - kappa * eta,
        P.eta_eta - kappa * (Q.eta_eta - P.eta_eta) - bend * eta * eta,
        P.tau - kappa * tau,
        P.eta_tau - kappa * (Q.eta_tau - P.eta_tau) - bend * eta * tau,
    };
}

/* A narrow interval c +- r by Louis' identity: quadrature of the exact row's derivatives. */
static Terms louis(const Noise *noise, double c, double r, double s)
{
    double d[MOST_NODES][3], z[MOST_NODES], p[MOST_NODES], top = -INFINITY, mass = 0, m1 = 0, mz = 0;
    double bend = 0, curve = 0, mixed = 0;
    int n = tables.panel.n;
    for (int j = 0; j < n; j++) {
        z[j] = c + r * tables.panel.nodes[j];
        log_density(noise, z[j], d[j]);
        top = larger(top, d[j][0]);
    }
    for (int j = 0; j < n; j++)
        mass += p[j] = tables.panel.weights[j] * exp(d[j][0] - top);
    for (int j = 0; j < n; j++) {
        p[j] /= mass;
        m1 += p[j] * d[j][1];
        mz += p[j] * z[j] * d[j][1];
    }
    for (int j = 0; j < n; j++) {
        double from_m1 = d[j][1] - m1, from_mz = z[j] * d[j][1] - mz;
        bend += p[j] * (d[j][2] + from_m1 * from_m1);
        curve += p[j] * (d[j][1] + z[j] * d[j][2]);
        mixed += p[j] * from_m1 * from_mz;
    }
    return (Terms){log(r) + log(mass) + top, -m1 / s, bend / (s * s), -mz - 1, (curve + mixed) / s};
}

/* Log mass between two ends, either of which may be infinite. */
static Terms mass_terms(const Noise *noise, double lower, double upper, double width, double f, double s)
{
    double a = (lower - f) / s, b = (upper - f) / s, r = .5 * width / s, up[3], near[3], far[3];
    if (isinf(lower) && isinf(upper))
        return (Terms){0};
    if (isinf(lower) || isinf(upper)) {
        (isinf(lower) ? lower_tail : upper_tail)(noise, isinf(lower) ? b : a, up);
        return chain(isinf(lower) ? b : a, up, s);
    }
    lower_tail(noise, b, near);
    upper_tail(noise, a, up);
    int left = near[0] <= up[0];
    if (left)
        lower_tail(noise, a, far);
    else
        upper_tail(noise, b, far);
    Terms P = left ? chain(b, near, s) : chain(a, up, s), Q = left ? chain(a, far, s) : chain(b, far, s);
    return Q.value - P.value <= NARROW ? difference(P, Q) : louis(noise, a + r, r, s);
}

static Terms density_terms(const Noise *noise, double value, double f, double s)
{
    double d[3], z = (value - f) / s;
    log_density(noise, z, d);
    Terms out = chain(z, d, s);
    out.value -= log(s);
    out.tau -= 1;
    return out;
}

static Terms window_terms(const Noise *noise, const Rows *rows, int i, double f, double s)
{
    return mass_terms(noise, rows->entry[i], rows->exit[i], rows->span[i], f, s);
}

/* Log likelihood of a row and its derivatives in f and log sigma, s being the scale of its noise. */
Terms row_terms(const Noise *noise, const Rows *rows, int i, double f, double s)
{
    Terms seen = i < rows->exact ? density_terms(noise, rows->limit[i], f, s)
                                 : mass_terms(noise, rows->lower[i], rows->upper[i], rows->width[i], f, s);
    if (!noise->windowed)
        return seen;
    Terms all = window_terms(noise, rows, i, f, s);
    return (Terms){seen.value - all.value, seen.eta - all.eta, seen.eta_eta - all.eta_eta, seen.tau - all.tau,
                   seen.eta_tau - all.eta_tau};
}

/* Log cdf of Student's t (sign 1) or survival function, and two derivatives; 0 where the table does not reach so far. */
VECTORISED static int student_tails(const Noise *noise, double sign, const double *z, int n, double *value, double *d1,
                                    double *d2)
{
    double t[MOST_NODES], w[MOST_NODES], density[MOST_NODES], df = noise->shape, inverse = 1 / centre_of(df), most = 0;
    int cell[MOST_NODES];
    for (int j = 0; j < n; j++) {
        t[j] = sign * z[j];
        double a = fabs(t[j]) * inverse;
        w[j] = a + sqrt(a * a + 1);
        density[j] = 1 + t[j] * t[j] / df;
    }
    fill_log(w, n);
    fill_log(density, n);
    for (int j = 0; j < n; j++) {
        w[j] = CELLS - w[j] * (CELLS / FARTHEST);
        most = smaller(most, w[j]);
        cell[j] = w[j] < CELLS - 1 ? (int)w[j] : CELLS - 1;
        density[j] = noise->log_norm - .5 * (df + 1) * density[j];
    }
    if (most < 0)
        return 0;
    for (int j = 0; j < n; j++)
        value[j] = in_cell(noise->tail + 3 * cell[j], w[j] - cell[j]);
    memcpy(w, value, sizeof(double) * n);
    fill_exp(w, n);
    for (int j = 0; j < n; j++)
        w[j] = 1 - w[j];
    fill_log(w, n);
    for (int j = 0; j < n; j++) {
        value[j] = t[j] > 0 ? w[j] : value[j];
        d1[j] = density[j] - value[j];
    }
    fill_exp(d1, n);
    for (int j = 0; j < n; j++) {
        d2[j] = d1[j] * (-(df + 1) * t[j] / (df + t[j] * t[j]) - d1[j]);
        d1[j] *= sign;
    }
    return 1;
}

/* Generalised gamma noise at several z: log density (side 0), log cdf (-1) or survival function (1), and two derivatives;
   0 where the tables do not reach so far. */
VECTORISED static int gengamma_terms(const Noise *noise, int side, const double *z, int n, double *value, double *d1,
                                     double *d2)
{
    double t[MOST_NODES], v[MOST_NODES], e[MOST_NODES], w[MOST_NODES], own[MOST_NODES], most = 0;
    double q = fabs(noise->shape), sign = noise->shape < 0 ? -1 : 1, inverse = 1 / q, longest = 0;
    int upper = sign * side > 0;
    for (int j = 0; j < n; j++) {
        t[j] = sign * z[j];
        v[j] = e[j] = q * t[j];
        most = larger(most, side ? t[j] * (LARGEST / noise->far) : v[j]);
        longest = smaller(longest, t[j]);
    }
    if (most >= LARGEST || (side && longest < -7e4))
        return 0;
    fill_exp(e, n);
    for (int j = 0; j < n; j++) {
        double sum = 0, near = v[j] < SHORT ? v[j] : SHORT;
        near = near > -SHORT ? near : -SHORT;
        for (int k = TERMS - 1; k >= 0; k--)
            sum = FACTORIAL[k] + sum * near;
        double half = near == v[j] ? t[j] * t[j] * sum : (e[j] - 1 - v[j]) * inverse * inverse;
        value[j] = noise->log_norm - half;
        d1[j] = near == v[j] ? -t[j] * (1 + near * sum) : (1 - e[j]) * inverse;
        d2[j] = -e[j];
    }
    if (side) {
        for (int j = 0; j < n; j++) {
            double a = fabs(t[j]);
            w[j] = a + sqrt(a * a + 1);
        }
        fill_log(w, n);
        for (int j = 0; j < n; j++) {
            double place = t[j] > 0 ? t[j] * (CELLS / noise->far) : CELLS - w[j] * (CELLS / FARTHEST);
            int cell = place < CELLS - 1 ? (int)place : CELLS - 1;
            own[j] = in_cell((t[j] > 0 ? noise->short_tail : noise->tail) + 3 * cell, place - cell);
            w[j] = own[j];
        }
        fill_exp(w, n);
        for (int j = 0; j < n; j++)
            w[j] = 1 - w[j];
        fill_log(w, n);
        for (int j = 0; j < n; j++) {
            own[j] = (t[j] > 0) == upper ? own[j] : w[j];
            w[j] = value[j] - own[j];
        }
        fill_exp(w, n);
        for (int j = 0; j < n; j++) {
            double first = upper ? -w[j] : w[j];
            d2[j] = first * (d1[j] - first);
            d1[j] = first;
            value[j] = own[j];
        }
    }
    for (int j = 0; j < n; j++)
        d1[j] *= sign;
    return 1;
}

/* The same at several f: exact rows, and one-sided ones of tails that are elementary or in a table, side by side; of
   other rows one f after another. */
VECTORISED void several_terms(const Noise *noise, const Rows *rows, int i, double s, int asked, Several *at)
{
    int n = asked;
    double z[MOST_NODES], e[MOST_NODES], d1[MOST_NODES], d2[MOST_NODES], *value = at->value, inverse = 1 / s, most = 0;
    int exact = i < rows->exact, interval = i >= rows->exact + rows->one_sided, right = !exact && rows->sign[i] > 0;
    for (int j = 0; j < n; j++) {
        z[j] = (rows->limit[i] - at->f[j]) * inverse;
        most = larger(most, z[j]);
    }
    int student = noise->distribution == STUDENT, gumbel = noise->distribution == GUMBEL;
    int gengamma = noise->distribution == GENGAMMA, bell = noise->distribution == TRUNCATED_NORMAL;
    int done = !interval && (!bell || exact) && (!gumbel || ((exact || right) && most < LARGEST));
    for (; done && n % 8; n++) /* whole vectors */
        z[n] = 0;
    if (done && student && !exact)
        done = student_tails(noise, right ? -1 : 1, z, n, value, d1, d2);
    if (done && gengamma)
        done = gengamma_terms(noise, exact ? 0 : right ? 1 : -1, z, n, value, d1, d2);
    if (!done) {
        for (int j = 0; j < asked; j++) {
            Terms t = row_terms(noise, rows, i, at->f[j], s);
            at->value[j] = t.value, at->eta[j] = t.eta, at->eta_eta[j] = t.eta_eta, at->tau[j] = t.tau;
        }
        return;
    }
    if (gumbel) {
        memcpy(e, z, sizeof(double) * n);
        fill_exp(e, n);
        for (int j = 0; j < n; j++) {
            value[j] = exact ? z[j] - e[j] : -e[j];
            d1[j] = exact ? 1 - e[j] : -e[j];
            d2[j] = -e[j];
        }
    } else if (student && exact) {
        double df = noise->shape;
        for (int j = 0; j < n; j++) {
            double u = 1 / (df + z[j] * z[j]);
            value[j] = 1 + z[j] * z[j] / df;
            d1[j] = -(df + 1) * z[j] * u;
            d2[j] = -(df + 1) * u * (df * u - z[j] * z[j] * u);
        }
        fill_log(value, n);
        for (int j = 0; j < n; j++)
            value[j] = noise->log_norm - .5 * (df + 1) * value[j];
    } else if (bell) {
        for (int j = 0; j < n; j++) {
            value[j] = -HALF_LOG_2PI - .5 * z[j] * z[j];
            d1[j] = -z[j];
            d2[j] = -1;
        }
    } else if (!student && !gengamma) {
        for (int j = 0; j < n; j++)
            e[j] = -fabs(z[j]);
        fill_exp(e, n);
        for (int j = 0; j < n; j++)
            value[j] = 1 + e[j];
        fill_log(value, n);
        for (int j = 0; j < n; j++) {
            double whole = 1 / (1 + e[j]), density = e[j] * whole * whole, size = fabs(z[j]);
            double t = right ? -z[j] : z[j], above = t > 0 ? e[j] * whole : whole, tilt = (1 - e[j]) * whole;
            d1[j] = exact ? (z[j] > 0 ? -tilt : tilt) : right ? -above : above;
            d2[j] = exact ? -2 * density : -density;
            value[j] = exact ? -size - 2 * value[j] : (t < 0 ? t : 0) - value[j];
        }
    }
    double log_s = exact ? log(s) : 0;
    for (int j = 0; j < n; j++) {
        value[j] -= log_s;
        at->eta[j] = -d1[j] * inverse;
        at->eta_eta[j] = d2[j] * inverse * inverse;
        at->tau[j] = -z[j] * d1[j] - exact;
    }
    for (int j = 0; noise->windowed && j < asked; j++) {
        Terms all = window_terms(noise, rows, i, at->f[j], s);
        at->value[j] -= all.value, at->eta[j] -= all.eta, at->eta_eta[j] -= all.eta_eta, at->tau[j] -= all.tau;
    }
}

static double log_norm(double df)
{
    return -.5 * log(df) - (lgamma(.5 * df) + lgamma(.5) - lgamma(.5 * df + .5));
}

/* Fill what is made of df. */
static void fit_to_df(Noise *noise, double df, double *tail)
{
    double centre = centre_of(df), step = FARTHEST / CELLS;
    noise->shape = df;
    noise->log_norm = log_norm(df);
    noise->reach = smaller(1, sqrt(df) / 2.8);
    noise->tail = tail;
    for (int k = 0; k <= CELLS; k++, tail += 3) {
        double w = step * k - FARTHEST, z = centre * sinh(w), rise = centre * cosh(w), density[3];
        log_density(noise, z, density);
        tail[0] = log_lower_tail(z, df);
        double d1 = exp(density[0] - tail[0]);
        tail[1] = step * d1 * rise;
        tail[2] = .5 * step * step * (d1 * (density[1] - d1) * rise * rise + d1 * z);
    }
}

/* Fill what is made of Q; a Q that is no number beside 1 is moved away from 0. */
static void fit_to_Q(Noise *noise, double Q, double *tail)
{
    double q = larger(fabs(Q), 1e-9), u = 1 / (q * q), step = FARTHEST / CELLS, density[3], table[3];
    noise->shape = q;
    noise->log_norm = -HALF_LOG_2PI - (u < 16 ? lgamma(u + 1) - (u + .5) * log(u) + u - HALF_LOG_2PI
                                            : (1. / 12 - (1. / 360 - (1. / 1260 - 1. / 1680 / u / u) / u / u) / u / u) / u);
    noise->reach = 1 / larger(1, 2 * q);
    noise->far = smaller(2.5, 7 / q);
    noise->tail = tail;
    noise->short_tail = tail + 3 * (CELLS + 1);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k <= CELLS; k++, tail += 3) {
            double w = step * k - FARTHEST, z = side ? noise->far * k / CELLS : sinh(w);
            double rise = side ? noise->far / CELLS : step * cosh(w), turn = side ? 0 : step * step * z;
            gengamma_density(noise, z, density);
            table[0] = gengamma_own_tail(noise, z, side);
            double d1 = (side ? -1 : 1) * exp(density[0] - table[0]);
            table[1] = d1 * rise;
            table[2] = .5 * (d1 * (density[1] - d1) * rise * rise + d1 * turn);
            memcpy(tail, table, sizeof table);
        }
    noise->shape = Q < 0 ? -q : q;
}

static void fit_to_shape(Noise *noise, double shape, double *tail)
{
    (noise->distribution == STUDENT ? fit_to_df : fit_to_Q)(noise, shape, tail);
}

/* Make what evaluations need of the noise, with slopes at other shapes too; 0 without memory. */
int ready_noise(Noise *noise, int slopes)
{
    if (noise->distribution != STUDENT && noise->distribution != GENGAMMA)
        return 1;
    int others = noise->free_shape && slopes ? 4 : 0, student = noise->distribution == STUDENT;
    long size = 3 * (CELLS + 1) * (student ? 1 : 2);
    double shape = noise->shape, *memory = malloc(sizeof(double) * size * (1 + others) + sizeof(Noise) * others);
    if (!memory)
        return 0;
    Noise *beside = (Noise *)(memory + size * (1 + others));
    fit_to_shape(noise, shape, memory);
    for (int k = 0; k < others; k++) {
        double move = PLACES[k] * SHAPE_STEP;
        beside[k] = *noise;
        fit_to_shape(beside + k, student ? shape * exp(move) : shape + move, memory + size * (1 + k));
    }
    noise->beside = beside;
    return 1;
}

void free_noise(Noise *noise)
{
    if (noise->distribution == STUDENT || noise->distribution == GENGAMMA)
        free(noise->tail);
}
