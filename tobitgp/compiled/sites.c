/* What one row says under normal noise, and the site that a method makes of it: inference/method.py, vi.py and the
   closed forms of likelihoods/families.py. */
#include <math.h>
#include "core.h"

static const double STEEPEST_CAVITY = 1e-12;

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

/* New site and part D of a row whose site is sought, from the mean and variance of a' w. */
Update update_site(const Evaluation *e, int i, double mean, double v, int want_D)
{
    double c = e->rows->weight[i], lambda1 = e->lambda1[i], lambda2 = e->lambda2[i], s = noise_of(e, i);
    Cumulants x;
    if (e->method == VI) { /* (VI2) and (VI3) */
        Expectation E = expected(e, i, mean, v + e->d[i]);
        return (Update){c * (E.d1 - E.d2 * mean), -c * E.d2, c * E.value + .5 * lambda2 * v};
    }
    if (e->method == LAPLACE) { /* (LA2) and (LA3) */
        smoothed(e->rows, i, mean, s, 2, &x);
        double d2 = -x.complement / (s * s);
        return (Update){c * (x.mean / s - d2 * mean), -c * d2, c * x.log_mass};
    }
    /* (EP1) to (EP6): the cavity leaves one of the row's copies out */
    double alpha = (lambda1 - lambda2 * mean) / c, left = fmax(1 - lambda2 / c * v, STEEPEST_CAVITY);
    double v_c = v / left, mean_c = mean - v_c * alpha, S2 = s * s + v_c + e->d[i], S = sqrt(S2);
    if (i < e->rows->exact + e->rows->one_sided && !want_D) {
        double z = (mean_c - e->rows->limit[i]) * e->rows->sign[i] / S, h, delta;
        mills(z, &h, &delta);
        x = (Cumulants){0, e->rows->sign[i] * h, h * delta, 0, 0};
    } else {
        smoothed(e->rows, i, mean_c, S, 2, &x);
    }
    double d1 = x.mean / S, d2 = -x.complement / S2, scale = c / (1 + d2 * v_c);
    double D = c * (x.log_mass + .5 * log1p(lambda2 / c * v_c) + .5 * v_c * alpha * alpha);
    return (Update){(d1 - mean_c * d2) * scale, -d2 * scale, D};
}

/* Derivatives of the evidence in d and log sigma at the fixed point: (EP8), (EP9), (VI5), (LA5) to (LA7). */
Slope site_slopes(const Evaluation *e, int i, double mean, double v)
{
    double c = e->rows->weight[i], lambda2 = e->lambda2[i], s = noise_of(e, i), s2 = s * s;
    if (e->method == VI)
        return (Slope){-.5 * lambda2, c * expected(e, i, mean, v + e->d[i]).slope, 0, 0};
    if (e->method == EP) {
        double d1 = (e->lambda1[i] - lambda2 * mean) / c, of_one = lambda2 / c, d2 = -of_one * (1 - of_one * v);
        return (Slope){.5 * c * (d1 * d1 + d2), c * s2 * (d2 + d1 * d1), 0, 0};
    }
    double d1 = (e->rows->limit[i] - mean) / s2, d2 = -1 / s2, d3 = 0, d4 = 0;
    if (i >= e->rows->exact) {
        Cumulants x;
        smoothed(e->rows, i, mean, s, 4, &x);
        d1 = x.mean / s, d2 = -x.complement / s2, d3 = x.third / (s2 * s), d4 = x.fourth / (s2 * s2);
    }
    double value = s2 * (d2 + d1 * d1), bend = s2 * (d4 + 2 * d2 * d2 + 2 * d1 * d3);
    return (Slope){0, c * (value + .5 * v * bend), .5 * c * v * d3, c * s2 * (d3 + 2 * d1 * d2)};
}
