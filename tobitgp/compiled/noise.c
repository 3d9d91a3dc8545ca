/* What a row says of f ~ N(mean, var) under noise that is not normal, by quadrature: likelihoods/noise.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

static const double NEAR = .1, BEYOND = 20, TOGETHER = 14, LEAST = 1e-12, STEP = .001, LARGEST = 300;
enum { NEWTON = 60, BISECTIONS = 14, GRID = 25, MOST_ENDS = 8 };
static const double AROUND[5] = {-3, -1, 0, 1, 3};

/* Sum of slopes in the shape at several f, with weights. */
static double shape_slopes(const Noise *noise, const Rows *rows, int i, double s, int n, const double *weight, const Several *at)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        Several other;
        memcpy(other.f, at->f, sizeof(double) * n);
        several_terms(noise->beside + k, rows, i, s, n, &other);
        sum += WEIGHTS[k] * dot(n, weight, other.value);
    }
    return sum / SHAPE_STEP;
}

/* Where the likelihood of a row bends. */
static int ends_of(const Noise *noise, const Rows *rows, int i, double s, double out[MOST_ENDS])
{
    int n = 0, interval = i >= rows->exact + rows->one_sided;
    for (int k = 0; k < noise->n_bends; k++)
        out[n++] = rows->limit[i] - s * noise->bends[k];
    for (int k = 0; interval && k < noise->n_bends; k++)
        out[n++] = rows->upper[i] - s * noise->bends[k];
    for (int side = 0; noise->windowed && side < 2; side++) {
        double end = side ? rows->exit[i] : rows->entry[i];
        for (int k = 0; isfinite(end) && k < noise->n_bends; k++)
            out[n++] = end - s * noise->bends[k];
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The mode that Newton's method finds from where `mode` is, and its width; whether the last step was short. */
static int climb_to_mode(const Noise *noise, const Rows *rows, int i, double mean, double sd, double s, double *mode,
                         double *width)
{
    double precision = 1 / (sd * sd), step = INFINITY;
    *width = sd;
    for (int k = 0; k < NEWTON && !(fabs(step) <= NEAR * *width); k++) {
        Terms at = row_terms(noise, rows, i, *mode, s);
        double curve = larger(precision - at.eta_eta, .2 * precision);
        step = (at.eta - precision * (*mode - mean)) / curve;
        *mode += step;
        *width = 1 / sqrt(curve);
    }
    return fabs(step) <= NEAR * *width;
}

/* Highest mode of the product of a row's likelihood and N(mean, sd^2) near a grid, and its width. */
static double search_mode(const Noise *noise, const Rows *rows, int i, double mean, double sd, double s, double *width)
{
    double ends[MOST_ENDS], grid[GRID + 5 * (1 + MOST_ENDS)], unit = s * noise->reach, precision = 1 / (sd * sd);
    int k = ends_of(noise, rows, i, s, ends), n = 0, best = 0;
    double low = mean, high = mean, highest = -INFINITY;
    for (int j = 0; j < k; j++)
        low = smaller(low, ends[j]), high = larger(high, ends[j]);
    low -= BEYOND * unit, high += BEYOND * unit;
    for (int j = 0; j < GRID; j++)
        grid[n++] = low + (high - low) * j / (GRID - 1.);
    for (int j = 0; j < 5; j++) {
        grid[n++] = mean + sd * AROUND[j];
        for (int l = 0; l < k; l++)
            grid[n++] = ends[l] + unit * AROUND[j];
    }
    qsort(grid, n, sizeof(double), compare);
    for (int j = 0; j < n; j++) {
        double x = (grid[j] - mean) / sd, height = row_terms(noise, rows, i, grid[j], s).value - .5 * x * x;
        if (height > highest)
            best = j, highest = height;
    }
    double left = grid[best ? best - 1 : 0], right = grid[best < n - 1 ? best + 1 : n - 1];
    for (int j = 0; j < BISECTIONS; j++) {
        double middle = .5 * (left + right);
        if (row_terms(noise, rows, i, middle, s).eta > precision * (middle - mean))
            left = middle;
        else
            right = middle;
    }
    double mode = .5 * (left + right);
    *width = 1 / sqrt(larger(precision - row_terms(noise, rows, i, mode, s).eta_eta, precision));
    return mode;
}

/* The mode that is highest of those that climbs lead to: one where the product is log-concave; else by a search. */
static double find_mode(const Noise *noise, const Rows *rows, int i, double mean, double sd, double start, double s,
                        double *width)
{
    double from[3] = {start, mean, rows->limit[i]}, best = start, highest = -INFINITY;
    for (int k = 0; k < (noise->log_concave ? 1 : 3); k++) {
        double mode = from[k], wide;
        if (!climb_to_mode(noise, rows, i, mean, sd, s, &mode, &wide))
            continue;
        double x = (mode - mean) / sd, height = row_terms(noise, rows, i, mode, s).value - .5 * x * x;
        if (height > highest)
            highest = height, best = mode, *width = wide;
    }
    return highest > -INFINITY ? best : search_mode(noise, rows, i, mean, sd, s, width);
}

/* Panels of the product, graded towards its mode and the ends of the row. */
VECTORISED static Tilt rough_tilt(const Noise *noise, const Rows *rows, int i, double mean, double sd, double start,
                                  double s, int slopes)
{
    double width = sd, mode = find_mode(noise, rows, i, mean, sd, start, s, &width);
    double fine = smaller(s * noise->reach, width);
    double t = sd / fine, away = (mean - mode) / fine, reach = rule_reach(t), low = reach, high = reach;
    double kinks[MOST_ENDS + 1], mass = 0, first = 0, second = 0, tau = 0, in_shape = 0;
    int n = ends_of(noise, rows, i, s, kinks);
    if (!noise->log_concave && fabs(away) < TOGETHER * t)
        low += larger(-away, 0), high += larger(away, 0);
    for (int k = 0; k < n; k++)
        kinks[k] = (kinks[k] - mode) / fine;
    kinks[n++] = 0;
    double origin = -away / t, top = row_terms(noise, rows, i, mode, s).value - .5 * origin * origin;
    Several there;
    for (double at = -low, next; at < high; at = next) {
        next = next_break(at, high, t, kinks, n);
        double half = .5 * (next - at);
        int m = half > 0 ? tables.panel.n : 0;
        double p[MOST_NODES], x[MOST_NODES];
        for (int j = 0; j < m; j++) {
            double v = (at + half) + half * tables.panel.nodes[j];
            x[j] = (v - away) / t;
            there.f[j] = mode + fine * v;
        }
        several_terms(noise, rows, i, s, m, &there);
        for (int j = 0; j < m; j++)
            p[j] = there.value[j] - .5 * x[j] * x[j] - top;
        fill_exp(p, m);
        for (int j = 0; j < m; j++) {
            p[j] *= half * tables.panel.weights[j];
            mass += p[j];
            first += p[j] * (x[j] - origin);
            second += p[j] * (x[j] - origin) * (x[j] - origin);
            tau += p[j] * there.tau[j];
        }
        if (slopes && noise->free_shape && m)
            in_shape += shape_slopes(noise, rows, i, s, m, p, &there);
    }
    double centre = first / mass, log_Z = top + log(mass) - log(t) - HALF_LOG_2PI;
    return (Tilt){log_Z, (origin + centre) / sd, (second / mass - centre * centre - 1) / (sd * sd), tau / mass, in_shape / mass};
}

/* A Gauss-Hermite rule around the mode, which Newton's method finds from `start`; 0 where it does not. */
VECTORISED static int smooth_tilt(const Noise *noise, const Rows *rows, int i, double mean, double sd, double start, double s,
                       int slopes, Tilt *out)
{
    const Rule *rules = tables.tilted[2 * (noise->distribution != GUMBEL && noise->distribution != GENGAMMA) + noise->rough];
    double mode = start, width, unit = s * noise->reach;
    int rule = 0;
    if (!climb_to_mode(noise, rows, i, mean, sd, s, &mode, &width))
        return 0;
    while (sd / unit > rules[rule].largest)
        rule++;
    const Rule *nodes = &rules[rule];
    double p[MOST_NODES], top = -INFINITY, mass = 0, bend = 0;
    int n = nodes->n;
    Several at;
    for (int j = 0; j < n; j++)
        at.f[j] = mode + width * nodes->nodes[j];
    several_terms(noise, rows, i, s, n, &at);
    for (int j = 0; j < n; j++) {
        double z = ((mode - mean) + width * nodes->nodes[j]) / sd;
        p[j] = at.value[j] + nodes->weights[j] - .5 * z * z;
        top = larger(top, p[j]);
    }
    for (int j = 0; j < n; j++)
        p[j] -= top;
    for (int j = n; j % 8; j++) /* whole vectors */
        p[j] = 0;
    fill_exp(p, (n + 7) / 8 * 8);
    for (int j = 0; j < n; j++)
        mass += p[j];
    *out = (Tilt){top + log(mass * width / sd), dot(n, p, at.eta) / mass, 0, dot(n, p, at.tau) / mass, 0};
    for (int j = 0; j < n; j++)
        bend += p[j] * (at.eta_eta[j] + (at.eta[j] - out->d1) * (at.eta[j] - out->d1));
    out->d2 = bend / mass;
    if (slopes && noise->free_shape)
        out->shape = shape_slopes(noise, rows, i, s, n, p, &at) / mass;
    return 1;
}

/* log E p(y | f), f ~ N(mean, var), its derivatives in the mean, and in log sigma and the shape; (ROW12).

   start: where the mode of the product is looked for, as the mean that the row's last site led to. */
Tilt tilted(const Noise *noise, const Rows *rows, int i, double mean, double var, double start, double s, int slopes)
{
    double sd = larger(sqrt(var), LEAST * s);
    Tilt out;
    if (sd <= tables.tilted[0][6].largest * s * noise->reach && smooth_tilt(noise, rows, i, mean, sd, start, s, slopes, &out))
        return out;
    return rough_tilt(noise, rows, i, mean, sd, start, s, slopes);
}

/* Log likelihood of Gumbel noise without its exponentials. */
static Terms gentle_terms(const Noise *noise, const Rows *rows, int i, double f, double s)
{
    double d[3], z = (rows->limit[i] - f) / s, w = rows->width[i] / s, lift = 0, growth = 0;
    if (i < rows->exact)
        return (Terms){z - log(s), -1 / s, 0, -z - 1, 0};
    if (i < rows->exact + rows->one_sided && rows->sign[i] > 0)
        return (Terms){0};
    if (i >= rows->exact + rows->one_sided) {
        z = (rows->lower[i] - f) / s;
        lift = w + log(-expm1(-w));
        growth = w / -expm1(-w);
    }
    lower_tail(noise, z + lift, d);
    return (Terms){d[0], -d[1] / s, d[2] / (s * s), -(z + growth) * d[1], 0};
}

static void add_terms(Terms *sum, double weight, Terms terms)
{
    sum->value += weight * terms.value;
    sum->eta += weight * terms.eta;
    sum->eta_eta += weight * terms.eta_eta;
    sum->tau += weight * terms.tau;
}

/* Expectations of the log likelihood, f ~ N(mean, var), and of its derivatives; (ROW13) to (ROW15). */
static Terms expected_terms(const Noise *noise, const Rows *rows, int i, double mean, double var, double s)
{
    double sd = sqrt(var), unit = s * noise->reach, t = sd / unit;
    int gumbel = noise->distribution == GUMBEL, limited = i >= rows->exact, right = limited && rows->sign[i] > 0, rule = 0;
    Terms (*at)(const Noise *, const Rows *, int, double, double) = gumbel ? gentle_terms : row_terms;
    Terms sum = {0};
    while (rule < 5 && t > tables.hermite_noise[rule].largest)
        rule++;
    if (gumbel && (!limited || right)) { /* linear in f */
        sum = gentle_terms(noise, rows, i, mean, s);
    } else if (rule < 5) {
        const Rule *nodes = &tables.hermite_noise[rule];
        for (int j = 0; j < nodes->n; j++)
            add_terms(&sum, nodes->weights[j], at(noise, rows, i, mean + sd * nodes->nodes[j], s));
    } else {
        double kinks[MOST_ENDS], reach = rule_reach(t);
        int n = ends_of(noise, rows, i, s, kinks);
        for (int k = 0; k < n; k++)
            kinks[k] = (kinks[k] - mean) / unit;
        for (double from = -reach, next; from < reach; from = next) {
            next = next_break(from, reach, t, kinks, n);
            double half = .5 * (next - from);
            for (int j = 0; half > 0 && j < tables.panel.n; j++) {
                double v = (from + half) + half * tables.panel.nodes[j], x = v / t;
                double weight = exp(-.5 * x * x - HALF_LOG_2PI) * half * tables.panel.weights[j] / t;
                add_terms(&sum, weight, at(noise, rows, i, mean + unit * v, s));
            }
        }
    }
    int interval = i >= rows->exact + rows->one_sided;
    if (gumbel && (!limited || right || interval)) { /* E e^a = e^(a + t^2 / 2) comes from t^2 to the right */
        double a = ((interval ? rows->lower[i] : rows->limit[i]) - mean) / s, w = sd / s;
        double rise = exp(smaller(a + .5 * w * w, LARGEST));
        add_terms(&sum, 1, (Terms){-rise, rise / s, -rise / (s * s), rise * (a + w * w), 0});
    }
    return sum;
}

Tilt expected_noise(const Noise *noise, const Rows *rows, int i, double mean, double var, double s, int slopes)
{
    Terms E = expected_terms(noise, rows, i, mean, var, s);
    double in_shape = 0;
    for (int k = 0; slopes && noise->free_shape && k < 4; k++)
        in_shape += WEIGHTS[k] * expected_terms(noise->beside + k, rows, i, mean, var, s).value / SHAPE_STEP;
    return (Tilt){E.value, E.eta, E.eta_eta, E.tau, in_shape};
}

/* Log likelihood at a point, two derivatives, and what slopes of Laplace's evidence need: differences of these. */
Point noise_at(const Noise *noise, const Rows *rows, int i, double f, double s, int slopes)
{
    Terms at = row_terms(noise, rows, i, f, s);
    Point out = {at.value, at.eta, at.eta_eta, 0, {at.tau, 0}, {at.eta_tau, 0}, {0, 0}};
    double h = STEP * s * noise->reach;
    for (int k = 0; slopes && k < 4; k++) {
        out.d3 += WEIGHTS[k] * row_terms(noise, rows, i, f + PLACES[k] * h, s).eta_eta / h;
        out.s2[0] += WEIGHTS[k] * row_terms(noise, rows, i, f, s * exp(PLACES[k] * STEP)).eta_eta / STEP;
        if (noise->free_shape) {
            Terms there = row_terms(noise->beside + k, rows, i, f, s);
            out.s0[1] += WEIGHTS[k] * there.value / SHAPE_STEP;
            out.s1[1] += WEIGHTS[k] * there.eta / SHAPE_STEP;
            out.s2[1] += WEIGHTS[k] * there.eta_eta / SHAPE_STEP;
        }
    }
    return out;
}
