/* Tails, truncated moments and expected log probabilities of normal values: numerics/normal_functions.py and truncated_moments.py, a row
   at a time. */
#include <math.h>
#include "core.h"

static const double ROOT_2_OVER_PI = 0.79788456080286535588, ROOT_HALF = 0.70710678118654752440;
static const double DELTA_SWITCH = -5, DERIVATIVE_SWITCH = -2.5;
static const double ONE_SIDED = 20, WIDE = 2, GENTLE = 3;
static const double KINK = 2, WIDTH = 3, PASSED = .01, STEEP = 100, LEAST = 0x1p-40;

/* Inverse Mills ratio h and the mean excess z + h, (ROW4). */
void mills(double z, double *h, double *delta)
{
    *h = ROOT_2_OVER_PI / lib.erfcx(-ROOT_HALF * z, 0);
    *delta = z + *h;
    if (z < DELTA_SWITCH) {
        double x = -z, sum = 0;
        for (int j = 0; j < tables.tail.n; j++)
            sum += tables.tail.weights[j] / (x * x + tables.tail.nodes[j]);
        *delta = x * sum;
        *h = x + *delta;
    }
}

/* X > -z (side 1) or X < z (side -1): cumulants are derivatives of log Phi at z, (ROW5). */
void tail_cumulants(double z, double side, int derivatives, Cumulants *out)
{
    double h, delta;
    mills(z, &h, &delta);
    out->log_mass = lib.log_ndtr(z, 0);
    out->mean = side * h;
    out->complement = h * delta;
    if (derivatives < 4)
        return;
    double third = h * (delta * delta - 1 + h * delta);
    out->fourth = 2 * out->complement * (1 - out->complement) - (delta + h) * third;
    if (z < DERIVATIVE_SWITCH) {
        double x = -z, far = 0, farther = 0;
        for (int j = 0; j < tables.deep_tail.n; j++) {
            double q = tables.deep_tail.nodes[j], w = tables.deep_tail.weights[j];
            double r = 1 / (x * x + q), y = x * x * r, s = q * r;
            far += w * r * r * (y - 3 * s);
            farther += w * r * r * (y * y - 6 * y * s + s * s);
        }
        third = 2 * x * far;
        out->fourth = 6 * farther;
    }
    out->third = side * third;
}

/* Closed forms, with differences of phi(a) and phi(b) through sinh and cosh of c r. */
static void wide_cumulants(double a, double b, double c, double r, int derivatives, Cumulants *out)
{
    out->log_mass = log1p(-(lib.ndtr(a, 0) + lib.ndtr(-b, 0)));
    double scale = 2 * exp(-.5 * (c * c + r * r) - HALF_LOG_2PI - out->log_mass);
    double gap = scale * sinh(c * r), total = scale * cosh(c * r); /* (phi(a) -+ phi(b)) / mass */
    double m = gap, d = r * total - c * gap;                       /* d: (b phi(b) - a phi(a)) / mass */
    out->mean = m;
    out->complement = d + m * m;
    if (derivatives < 4)
        return;
    double t = (c * c + r * r) * gap - 2 * c * r * total; /* (a^2 phi(a) - b^2 phi(b)) / mass */
    double u = c * (c * c + 3 * r * r) * gap - r * (r * r + 3 * c * c) * total; /* of cubes */
    out->third = t - m + 3 * m * d + 2 * m * m * m;
    out->fourth = 3 * d + u + 4 * m * (m - t) - 3 * d * d - 12 * d * m * m - 6 * m * m * m * m;
}

/* Gauss-Legendre on pairs of nodes c -+ t. */
static void narrow_cumulants(double c, double r, int derivatives, const Rule *rule, Cumulants *out)
{
    double low[16], high[16], mass = 0, moved = 0, var = 0, third = 0, fourth = 0;
    for (int j = 0; j < rule->n; j++) {
        double t = rule->nodes[j] * r, bell = rule->weights[j] * exp(-.5 * t * t), tilt = exp(c * t);
        low[j] = bell * tilt;
        high[j] = bell / tilt;
        mass += low[j] + high[j];
        moved += t * bell * sinh(c * t);
    }
    double shift = -2 * moved / mass;
    for (int j = 0; j < rule->n; j++) {
        double t = rule->nodes[j] * r, below = -t - shift, above = t - shift;
        double l = low[j] * below * below, h = high[j] * above * above;
        var += l + h;
        third += l * below + h * above;
        fourth += l * below * below + h * above * above;
    }
    var /= mass;
    out->log_mass = log(r * mass) - .5 * c * c - HALF_LOG_2PI;
    out->mean = c + shift;
    out->complement = 1 - var;
    if (derivatives < 4)
        return;
    out->third = third / mass;
    out->fourth = fourth / mass - 3 * var * var;
}

/* Log mass and cumulants of X ~ N(0, 1) in (a, b), whose centre and half-width may be known better than its ends. */
void interval_cumulants(double a, double b, double c, double r, int derivatives, Cumulants *out)
{
    double reach = fabs(c) * r;
    if (reach > ONE_SIDED)
        tail_cumulants(c > 0 ? -a : b, c > 0 ? 1 : -1, derivatives, out);
    else if (a < 0 && b > 0 && r >= .5 * WIDE)
        wide_cumulants(a, b, c, r, derivatives, out);
    else
        narrow_cumulants(c, r, derivatives, reach <= GENTLE && r <= 1 ? &tables.narrow : &tables.wide, out);
}

/* What is averaged over: log Phi, h and kappa of a one-sided row; log mass, mean, complement and squared mean of an
   interval. */
typedef struct { int fields; double a, b, c, r; } Integrand;

static void add_terms(const Integrand *f, double v, double weight, double *out)
{
    Cumulants x;
    if (f->fields == 3)
        tail_cumulants(f->a + v, 1, 2, &x);
    else
        interval_cumulants(f->a - v, f->b - v, f->c - v, f->r, 2, &x);
    out[0] += weight * x.log_mass;
    out[1] += weight * x.mean;
    out[2] += weight * x.complement;
    if (f->fields == 4)
        out[3] += weight * x.mean * x.mean;
}

/* Half-width of the range of t X. */
double rule_reach(double t)
{
    return (t <= STEEP ? 9 : 11) * t;
}

/* Where the panel from `at` ends: no wider than 3 t, nor, unless 3 wide, than 3 times its distance to a kink. */
double next_break(double at, double high, double t, const double *kinks, int n_kinks)
{
    double ahead = INFINITY, behind = INFINITY;
    for (int k = 0; k < n_kinks; k++) {
        double gap = kinks[k] - at;
        if (gap > PASSED)
            ahead = smaller(ahead, gap);
        else
            behind = smaller(behind, fabs(gap));
    }
    double step = smaller(WIDTH * t, larger(WIDTH, 3 * behind));
    step = smaller(step, ahead <= 4. / 3 * WIDTH ? ahead : .75 * ahead);
    return smaller(at + larger(step, LEAST * fabs(at)), high);
}

/* Panels over shift + t X, graded towards kinks: `normal_rule` of numerics/quadrature.py. */
static void add_panels(const Integrand *f, double shift, double t, const double *kinks, int n_kinks, double *out)
{
    double high = shift + rule_reach(t);
    for (double at = shift - rule_reach(t), next; at < high; at = next) {
        next = next_break(at, high, t, kinks, n_kinks);
        double half = .5 * (next - at);
        for (int j = 0; half > 0 && j < tables.panel.n; j++) {
            double v = (at + half) + half * tables.panel.nodes[j], x = (v - shift) / t;
            add_terms(f, v, exp(-.5 * x * x - HALF_LOG_2PI) * half * tables.panel.weights[j] / t, out);
        }
    }
}

static const Rule *hermite_rule(double t, double largest)
{
    for (int k = 0; k < 5; k++)
        if (t <= (k < 4 ? tables.hermite[k].largest : largest))
            return &tables.hermite[k];
    return 0;
}

static void add_hermite(const Integrand *f, double t, const Rule *rule, double *out)
{
    for (int j = 0; j < rule->n; j++)
        add_terms(f, t * rule->nodes[j], rule->weights[j], out);
}

/* Expectations of log Phi, h and kappa at a + t X, (ROW14). */
void expected_one_sided(double a, double t, double out[3])
{
    const Rule *rule = hermite_rule(t, tables.hermite[4].largest);
    out[0] = out[1] = out[2] = 0;
    if (rule) {
        add_hermite(&(Integrand){3, a, 0, 0, 0}, t, rule, out);
        return;
    }
    double origin = fabs(a) <= rule_reach(t) ? 0 : a, kink = KINK - origin;
    add_panels(&(Integrand){3, origin, 0, 0, 0}, a - origin, t, &kink, 1, out);
}

/* Expectations of log mass, mean, complement and squared mean of (a - t X, b - t X). */
void expected_interval(double a, double b, double t, double width, double out[4])
{
    double c = .5 * (a + b), r = .5 * width, reach = rule_reach(t);
    const Rule *rule = hermite_rule(t, tables.largest_interval);
    out[0] = out[1] = out[2] = out[3] = 0;
    if (rule) {
        add_hermite(&(Integrand){4, a, b, c, r}, t, rule, out);
        return;
    }
    /* A kink within reach of X, so that ends near it are exact. */
    double origin = fabs(c) <= reach ? c : fabs(a) <= reach ? a : fabs(b) <= reach ? b : 0;
    double inner = larger(r - KINK, 0), kinks[2] = {c - origin - inner, c - origin + inner};
    add_panels(&(Integrand){4, a - origin, b - origin, c - origin, r}, -origin, t, kinks, 2, out);
}
