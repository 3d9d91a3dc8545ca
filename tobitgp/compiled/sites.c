/* The site that a method makes of a row, and the slopes of its evidence: inference/method.py and vi.py, with the closed
   forms of normal noise in likelihoods/families.py. */
#include <math.h>
#include "core.h"

static const double IMPROPER = 1e12;

/* Standard deviation of the noise of a row. */
static double noise_of(const Evaluation *e, int i)
{
    return e->rows->spread ? e->sigma * e->rows->spread[i] : e->sigma;
}

/* Log probability of what is known of a value N(mean, S^2) and its derivatives in the mean, (ROW10). */
static void smoothed(const Rows *rows, int i, double mean, double S, int derivatives, Cumulants *out)
{
    if (i < rows->exact + rows->one_sided) {
        tail_cumulants((mean - rows->limit[i]) * rows->sign[i] / S, rows->sign[i], derivatives, out);
    } else {
        double a = (rows->lower[i] - mean) / S, b = (rows->upper[i] - mean) / S;
        interval_cumulants(a, b, .5 * (a + b), .5 * rows->width[i] / S, derivatives, out);
    }
}

/* Expected log probability, f ~ N(mean, var), (ROW13) to (ROW15). */
static Expectation expected(const Evaluation *e, int i, double mean, double var)
{
    const Rows *rows = e->rows;
    double s = noise_of(e, i), s2 = s * s, t = sqrt(var) / s, x[4];
    if (i < rows->exact) {
        double z = (rows->limit[i] - mean) / s, square = z * z + var / s2;
        return (Expectation){-HALF_LOG_2PI - log(s) - .5 * square, z / s, -1 / s2, square - 1};
    }
    if (i < rows->exact + rows->one_sided) {
        double a = (mean - rows->limit[i]) * rows->sign[i] / s;
        expected_one_sided(a, t, x);
        return (Expectation){x[0], rows->sign[i] * x[1] / s, -x[2] / s2, t * t * x[2] - a * x[1]};
    }
    expected_interval((rows->lower[i] - mean) / s, (rows->upper[i] - mean) / s, t, rows->width[i] / s, x);
    return (Expectation){x[0], x[1] / s, -x[2] / s2, x[3] - x[2]};
}

/* The same of any noise, with slopes where asked for. */
Tilt expected_row(const Evaluation *e, int i, double mean, double var, int slopes)
{
    if (e->noise.distribution != NORMAL)
        return expected_noise(&e->noise, e->rows, i, mean, var, noise_of(e, i), slopes);
    Expectation E = expected(e, i, mean, var);
    return (Tilt){E.value, E.d1, E.d2, E.slope, 0};
}

/* The site of a row with an exact value, whose noise EP widens by the residual variance, (SIT4). */
void known_site(Evaluation *e, int i)
{
    double s = noise_of(e, i), variance = s * s + (e->method == EP ? e->d[i] : 0);
    e->lambda2[i] = e->rows->weight[i] / variance;
    e->lambda1[i] = e->lambda2[i] * e->rows->limit[i];
}

/* Its part D of the evidence: (EP7), (VI4) and Laplace's. */
double known_part(const Evaluation *e, int i, double mean)
{
    double s = noise_of(e, i), variance = s * s + (e->method == EP ? e->d[i] : 0), z = e->rows->limit[i] - mean;
    double density = -HALF_LOG_2PI - .5 * log(variance) - .5 * z * z / variance;
    return e->rows->weight[i] * (e->method == VI ? density - .5 * e->d[i] / variance : density);
}

/* Value and two derivatives in f of what a method looks at: E log p, log p, or log Z of the cavity. start: as of tilted. */
static Tilt look_at(const Evaluation *e, int i, double mean, double var, double start, int want_value)
{
    double s = noise_of(e, i);
    Cumulants x;
    if (e->method == VI)
        return expected_row(e, i, mean, var, 0);
    if (e->noise.distribution != NORMAL && e->method == LAPLACE) {
        Point p = noise_at(&e->noise, e->rows, i, mean, s, 0);
        return (Tilt){p.log_p, p.d1, p.d2, 0, 0};
    }
    if (e->noise.distribution != NORMAL)
        return tilted(&e->noise, e->rows, i, mean, var, start, s, 0);
    double S = e->method == EP ? sqrt(s * s + var) : s;
    if (i < e->rows->exact + e->rows->one_sided && !want_value) {
        double z = (mean - e->rows->limit[i]) * e->rows->sign[i] / S, h, delta;
        mills(z, &h, &delta);
        x = (Cumulants){0, e->rows->sign[i] * h, h * delta, 0, 0};
    } else {
        smoothed(e->rows, i, mean, S, 2, &x);
    }
    return (Tilt){x.log_mass, x.mean / S, -x.complement / (S * S), 0, 0};
}

/* New site and part D of a row whose site is sought, from the mean and variance of a' w. */
Update update_site(Evaluation *e, int i, double mean, double v, int want_D)
{
    double c = e->rows->weight[i], lambda1 = e->lambda1[i], lambda2 = e->lambda2[i];
    if (e->method != EP) { /* (VI2) and (VI3), (LA2) and (LA3) */
        Tilt x = look_at(e, i, mean, v + e->d[i], mean, want_D);
        double D = c * x.log_Z + (e->method == VI ? .5 * lambda2 * v : 0);
        return (Update){c * (x.d1 - x.d2 * mean), -c * x.d2, D};
    }
    /* (EP1) to (EP6): the cavity leaves one of the row's copies out */
    double alpha = (lambda1 - lambda2 * mean) / c, v_c = v / larger(1 - lambda2 / c * v, 1 / IMPROPER);
    double mean_c = mean - v_c * alpha;
    if (!e->noise.log_concave && !e->floored && v_c >= IMPROPER * v)
        e->failed = 1;
    Tilt x = look_at(e, i, mean_c, v_c + e->d[i], mean, want_D);
    double d2 = e->floored ? smaller(x.d2, 0) : x.d2, scale = c / (1 + d2 * v_c);
    double D = c * (x.log_Z + .5 * log1p(lambda2 / c * v_c) + .5 * v_c * alpha * alpha);
    return (Update){(x.d1 - mean_c * d2) * scale, -d2 * scale, D};
}

/* Laplace's: log p at the mean, with three derivatives and slopes in the noise, (LA5) to (LA7). */
static Point point(const Evaluation *e, int i, double f)
{
    double s = noise_of(e, i), s2 = s * s;
    if (e->noise.distribution != NORMAL)
        return noise_at(&e->noise, e->rows, i, f, s, 1);
    double d1 = (e->rows->limit[i] - f) / s2, d2 = -1 / s2, d3 = 0, d4 = 0;
    if (i >= e->rows->exact) {
        Cumulants x;
        smoothed(e->rows, i, f, s, 4, &x);
        d1 = x.mean / s, d2 = -x.complement / s2, d3 = x.third / (s2 * s), d4 = x.fourth / (s2 * s2);
    }
    double slopes[3] = {s2 * (d2 + d1 * d1), s2 * (d3 + 2 * d1 * d2), s2 * (d4 + 2 * d2 * d2 + 2 * d1 * d3)};
    return (Point){0, d1, d2, d3, {slopes[0], 0}, {slopes[1], 0}, {slopes[2], 0}};
}

/* Derivatives of the evidence in d and the noise at the fixed point: (EP8), (EP9), (VI5), (LA5) to (LA7). */
Slope site_slopes(const Evaluation *e, int i, double mean, double v)
{
    double c = e->rows->weight[i], lambda2 = e->lambda2[i], s = noise_of(e, i);
    if (e->method == VI) {
        Tilt x = expected_row(e, i, mean, v + e->d[i], 1);
        return (Slope){-.5 * lambda2, {c * x.tau, c * x.shape}, 0, {0, 0}};
    }
    if (e->method == EP) {
        double d1 = (e->lambda1[i] - lambda2 * mean) / c, of_one = lambda2 / c, d2 = -of_one * (1 - of_one * v);
        Tilt x = {0, 0, 0, s * s * (d2 + d1 * d1), 0};
        if (e->noise.distribution != NORMAL) {
            double v_c = v / larger(1 - of_one * v, 1 / IMPROPER);
            x = tilted(&e->noise, e->rows, i, mean - v_c * d1, v_c + e->d[i], mean, s, 1);
        }
        return (Slope){.5 * c * (d1 * d1 + d2), {c * x.tau, c * x.shape}, 0, {0, 0}};
    }
    Point p = point(e, i, mean);
    return (Slope){
        0,
        {c * (p.s0[0] + .5 * v * p.s2[0]), c * (p.s0[1] + .5 * v * p.s2[1])},
        .5 * c * v * p.d3,
        {c * p.s1[0], c * p.s1[1]},
    };
}
