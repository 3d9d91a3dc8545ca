/* The compiled core: one evaluation of the evidence of a process and of its gradient, as inference/ does it with numpy.

   Nothing is linked but libm. BLAS, LAPACK and three special functions come as pointers from scipy, tables of nodes
   from the Python modules that explain them. Rows are in C order; square matrices in Fortran order, of which the lower
   triangle counts. Equation tags are those of the theory pages. */
#ifndef TOBITGP_CORE_H
#define TOBITGP_CORE_H

#define HALF_LOG_2PI 0.91893853320467274178
#define BLOCK 128 /* rows that are worked on together */
#define MEMORY 8  /* steps that are remembered */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(TOBITGP_SANITIZED)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

/* As fmax and fmin, which compilers call for the sake of signed zeros; the second where the first is no number. */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* Sums of products, which the compiler may take in any order. */
static inline __attribute__((always_inline, unused)) double dot(long n, const double *a, const double *b)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (long k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

typedef struct {
    void (*dgemm)(char *, char *, int *, int *, int *, double *, double *, int *, double *, int *, double *, double *, int *);
    void (*dsyrk)(char *, char *, int *, int *, double *, double *, int *, double *, double *, int *);
    void (*dtrmm)(char *, char *, char *, char *, int *, int *, double *, double *, int *, double *, int *);
    void (*dtrsm)(char *, char *, char *, char *, int *, int *, double *, double *, int *, double *, int *);
    void (*dsymm)(char *, char *, int *, int *, double *, double *, int *, double *, int *, double *, double *, int *);
    void (*dgemv)(char *, int *, int *, double *, double *, int *, double *, int *, double *, double *, int *);
    void (*dpotrf)(char *, int *, double *, int *, int *);
    void (*dpstrf)(char *, int *, double *, int *, int *, int *, double *, double *, int *);
    void (*dpotri)(char *, int *, double *, int *, int *);
    void (*dtrtri)(char *, char *, int *, double *, int *, int *);
    void (*dgelss)(int *, int *, int *, double *, int *, double *, int *, double *, double *, int *, double *, int *, int *);
    double (*erfcx)(double, int);
    double (*log_ndtr)(double, int);
    double (*ndtr)(double, int);
    double (*betainc)(double, double, double, int);
    double (*betaincc)(double, double, double, int);
    double (*gammainc)(double, double, int);
    double (*gammaincc)(double, double, int);
} Library;

typedef struct {
    int n;
    double largest; /* spread of the argument that the rule serves */
    const double *nodes, *weights;
} Rule;

typedef struct {
    Rule tail, deep_tail;      /* terms q and w of Laplace's continued fraction; numerics/normal_functions.py */
    Rule narrow, wide;         /* positive halves of Gauss-Legendre rules; numerics/truncated_moments.py */
    Rule panel;                /* Gauss-Legendre rule of a panel; numerics/quadrature.py */
    Rule hermite[5];           /* Gauss-Hermite rules, the last for one-sided rows ... */
    double largest_interval;   /* ... and the largest argument that it serves of intervals */
    Rule hermite_noise[5];     /* Gauss-Hermite rules of likelihoods/noise.py ... */
    Rule tilted[4][7];         /* ... and for tilted moments: of Gumbel and other noise, exact and rough; logs of weights */
} Tables;

extern Library lib;
extern Tables tables;

/* normal.c */
typedef struct { double log_mass, mean, complement, third, fourth; } Cumulants; /* of a truncated variable, (ROW6) */
typedef struct { double value, d1, d2, slope; } Expectation; /* of log p, two derivatives, and that in log sigma */
void mills(double z, double *h, double *delta);
void tail_cumulants(double z, double side, int derivatives, Cumulants *out);
void interval_cumulants(double a, double b, double c, double r, int derivatives, Cumulants *out);
void expected_one_sided(double a, double t, double out[3]);
void expected_interval(double a, double b, double t, double width, double out[4]);
double rule_reach(double t);
double next_break(double at, double high, double t, const double *kinks, int n_kinks);

/* rows: those with an exact value first, then those with one limit, then those with two */
typedef struct {
    int n, exact, one_sided, groups;
    const double *limit, *sign, *lower, *upper, *width, *weight;
    const double *spread; /* noise in units of sigma, or NULL */
    const int *code;      /* group of each row, where columns go with groups */
    const double *entry, *exit, *span; /* where a value had to lie for its row to be seen, or NULL */
} Rows;

/* distributions.c: a distribution by quadrature, normal only where rows are truncated; what it makes of a row at f */
enum { NORMAL, LOGISTIC, GUMBEL, STUDENT, GENGAMMA, TRUNCATED_NORMAL };
enum { CELLS = 200 };
typedef struct Noise {
    int distribution, free_shape, log_concave, n_bends;
    int rough;                   /* rules that serve to 1e-8, while sites are far from settled */
    int windowed;                /* what rows say is conditional on their windows */
    double shape, reach, bends[2]; /* shape: df of Student's t, Q of generalised gamma times */
    /* made of the shape: */
    double log_norm, *tail;      /* (CELLS + 1, 3), the log cdf left of 0, and derivatives, in asinh(z / centre) */
    double *short_tail, far;     /* (CELLS + 1, 3), of generalised gamma times the log survival from 0 to far */
    const struct Noise *beside;  /* (4,), at shapes a little smaller and larger, where it is free */
} Noise;
typedef struct { double value, eta, eta_eta, tau, eta_tau; } Terms;        /* derivatives, named by their arguments */
/* the same at several f, all but eta_tau, side by side */
enum { MOST_NODES = 32 };
typedef struct { double f[MOST_NODES], value[MOST_NODES], eta[MOST_NODES], eta_eta[MOST_NODES], tau[MOST_NODES]; } Several;
extern const double PLACES[4], WEIGHTS[4], SHAPE_STEP;
int ready_noise(Noise *noise, int slopes);
void free_noise(Noise *noise);
void lower_tail(const Noise *noise, double z, double out[3]);
Terms row_terms(const Noise *noise, const Rows *rows, int i, double f, double s);
void several_terms(const Noise *noise, const Rows *rows, int i, double s, int asked, Several *at);

/* noise.c */
typedef struct { double log_Z, d1, d2, tau, shape; } Tilt;                 /* the last two in log sigma and the shape */
typedef struct { double log_p, d1, d2, d3, s0[2], s1[2], s2[2]; } Point;   /* s: slopes in log sigma and the shape */
Tilt tilted(const Noise *noise, const Rows *rows, int i, double mean, double var, double start, double s, int slopes);
Tilt expected_noise(const Noise *noise, const Rows *rows, int i, double mean, double var, double s, int slopes);
Point noise_at(const Noise *noise, const Rows *rows, int i, double f, double s, int slopes);

/* blocks of features: columns as they are, or a process of one radial kernel with inducing inputs */
enum { COLUMNS = -1, RBF, MATERN12, MATERN32, MATERN52 };
typedef struct {
    int kind, own;        /* own: whether the columns go with the weights of a row's own group */
    int inputs, size;     /* d, and M */
    int each;             /* a length-scale for each input */
    const double *X, *Z;  /* (n, d) and (M, d); columns (n, M) stand in X */
    /* at the parameters: */
    int kept, first;      /* inducing inputs in use, and the first of their columns */
    int *pivots;          /* (M,), which these are, from 1 */
    double variance;
    double *L, *T;        /* (kept, kept): K_MM = L L', T = sd^2 L^-1 */
    double *Z_kept;       /* (kept, d) */
    const double *theta;  /* its parameters */
} Block;

/* chain.c: a sum of Matern processes of one input, and of random intercepts, as a Markov chain */
enum { MOST_STATES = 12, COLUMNS_AT_ONCE = 8 };
typedef struct {
    int knots, states, terms;
    const int *smoothness;        /* of each term, p of Matern-(p + 1/2), or -1 of a random intercept */
    const double *gap;            /* (knots,) before each, infinite where a series starts */
    const double *theta;          /* of each term log sd, and log length-scale of what has one */
    const double *lambda2;        /* (knots,) precisions of sites */
    double *Phi, *C;              /* (knots, S, S) transitions; given the sites: */
    double *P, *G;                /* (knots + 1, S, S) filtered covariance one knot before; backward information */
    double *gain, *back, *site;   /* what columns meet forward, (knots, S), and back, (knots, S, S) and (knots, S) */
    double *by_mu, *by_g;         /* (knots, S), slopes of the mean of f in the filtered mean and backward information */
    double *variance;             /* (knots,), diag V0 */
    double *columns;              /* (2 knots + 1, COLUMNS_AT_ONCE, S), scratch */
    double log_det;               /* log |I + K Lambda| */
} Chain;
typedef struct {
    long n;
    const int *left, *right;             /* (n,), the knots on both sides, any where there is none ... */
    const double *from_left, *to_right;  /* ... and how far they are, infinitely there */
    const int *shown;                    /* of each term, whether it counts */
} Places;
void fix_chain(const Chain *c);
int condition_chain(Chain *c);
void carry_columns(const Chain *c, int k, int stride, const double *U, double *mu, double *g);
void solve_chain(const Chain *c, int k, const double *U, double *out);
void slope_chain(const Chain *c, int k, const double *U, const double *signs, double *gradient);

/* fronts.c: a sparse matrix as a tree of dense fronts, children before parents */
typedef struct {
    int count;
    const int *start, *edge;       /* (count + 1,), first pivot of each and first of its border ... */
    const int *border, *into;      /* ... among all borders: later rows, and where these stand in the parent's front */
    const int *child, *children;   /* (count + 1,), the first child of each among all */
    const int *entry;              /* (count + 1,), the first entry of each ... */
    const int *by_front, *at;      /* ... among all: which it is in the pattern, and where it stands in the panel */
    const long long *panel, *place;/* (count,), where the panel of each begins, and what it passes on */
    double *panels, *passed;
    double log_det;
} Fronts;

/* vecchia.c: sets of a knot and its neighbours */
typedef struct {
    long n;
    int size;        /* neighbours, and the knot itself, which comes last */
    const int *pair; /* (n, size (size + 1) / 2), the pair at each place of the lower triangle, row by row */
} Sets;

enum { EP, VI, LAPLACE };
typedef struct {
    const Rows *rows;
    Block *blocks;
    int n_blocks, method, max_iterations;
    int slopes;               /* number of parameters of the blocks, where the gradient is asked for; else negative */
    int floored, known;       /* no site of negative precision; how many rows, the first, have sites that are known */
    int stored;               /* the first row whose features are kept; those of rows before are made when needed */
    double tol, damping, sigma;
    Noise noise;
    double *lambda1, *lambda2;/* (n,) sites: where to start and where the iteration ended */
    const double *given_d;    /* (n,), residual variances of columns, or NULL */
    Chain *chain;             /* beside the blocks, whose columns are then all common and kept, or NULL ... */
    const int *knot;          /* ... and where each row stands in it, (n,) */
    /* what comes out: */
    int p, m;                 /* common columns, and those of a row's own group */
    int rank;                 /* of A A', whose root stood for columns that are more than the rows; else p */
    double *A, *own, *d;      /* features (n - stored, p), (n - stored, m), residual variances (n,) */
    double *w, *L, *T, *U;    /* mean (p + groups m), factor (p, p), (groups, m, m), (groups, m, p) */
    double *gradient;         /* in the parameters of all blocks, the shape if it is free, log sigma, where asked for */
    double *chain_gradient;   /* in the parameters of the chain */
    double *G, *G_own, *g_d;  /* derivatives (n, p), (n, m), (n,) of the evidence, or NULL where nobody needs them */
    double evidence, residual;
    int iterations, converged, failed; /* failed: a cavity had no variance */
} Evaluation;

/* Some rows: where they are and their features. */
typedef struct {
    int from, count;
    const double *A, *own; /* (count, p), (count, m) */
} Part;

/* elementary.c */
void fill_exp(double *x, long n);
void fill_log(double *x, long n);

/* features.c */
int fix_blocks(Evaluation *e, double *scratch);
long scratch_size(const Evaluation *e);
void fill_rows(const Evaluation *e, int from, int count, double *A, double *own, double *d, double *scratch);
int join_columns(Evaluation *e, double *root, double *scratch);
long slopes_size(const Evaluation *e);
void add_slopes(const Evaluation *e, const Part *part, double *G, double *G_own, const double *g_d, double *sums,
                double *scratch);
void finish_slopes(const Evaluation *e, const double *between, double *sums, double *scratch);

/* posterior.c: sums of rows and q(w) = N(w, B^-1) */
typedef struct { double *B, *r, *B_own, *r_own; } Sums; /* (p, p), (p,), (groups, m, m + p), (groups, m) */
long sums_size(const Evaluation *e);
void clear_sums(Sums *s, double *memory, const Evaluation *e);
void add_rows(Sums *s, const Evaluation *e, const Part *part, double *buffer);
void add_products(const double *A, int stride, int columns, int count, const double *weight, double *buffer, double *out);
void solve_arrow(const Evaluation *e, const double *inverse, double *r, double *z);
int find_posterior(Evaluation *e, const Sums *known, const Sums *sought, double *inverse, double *log_det, double *scratch);
void whiten_rows(const Evaluation *e, const double *inverse, const Part *part, double *corner, double *own, double *v,
                 double *mean);

/* structured.c: of all but the chain itself what a posterior beside it needs */
typedef struct {
    double *lambda2, *U;              /* (knots,) and (knots, 1 + p), sums of precisions, and of lambda1 and Lambda A ... */
    double *known_lambda2, *known_U;  /* ... and those of rows whose sites are known */
    double *V0_U;                     /* (knots, 1 + p) */
    double *A, *mean;                 /* (n, p) and (n,), A~ and the means of f */
    double *implicit, *moved;         /* (knots,), u - Lambda A q and V0 u of Laplace's method */
    double *columns, *signs;          /* of the gradient */
    double quadratic;                 /* alpha' m */
} Structured;
long structured_size(const Evaluation *e);
void begin_structured(Structured *s, Evaluation *e, double *memory);
void add_known_rows(Structured *s, const Evaluation *e, int from, int to);
int find_structured(Structured *s, Evaluation *e, int known, const Sums *none, Sums *sums, double *inverse,
                    double *log_det, double *buffer, double *scratch);
void add_chain(const Structured *s, const Evaluation *e, int from, int count, double *mean, double *v);
void move_chain(Structured *s, const Evaluation *e, const double *q);
void slope_structured(Structured *s, const Evaluation *e, int implicit, double *inverse);

/* sites.c */
typedef struct { double lambda1, lambda2, D; } Update;
typedef struct { double g_d, e[2], u, e_m[2]; } Slope; /* in d, log sigma and the shape; the last two Laplace's */
double known_part(const Evaluation *e, int i, double mean);
Tilt expected_row(const Evaluation *e, int i, double mean, double var, int slopes);
void known_site(Evaluation *e, int i);
Update update_site(Evaluation *e, int i, double mean, double v, int want_D);
Slope site_slopes(const Evaluation *e, int i, double mean, double v);

#endif
