/* Sparse symmetric positive-definite matrices as trees of dense fronts: numerics/fronts.py, (VEC3) and (VEC4).

   A front has p pivots and a border of u later rows. Of its factor the core keeps a panel (p + u, p) in Fortran order,
   whose upper triangle means nothing. Parts that fronts pass on, (u, u), of which the lower triangle counts, stand in
   `passed` from `place` on. */
#include <math.h>
#include <string.h>
#include "core.h"

static double one = 1, zero = 0, minus = -1;

typedef struct {
    int p, u, size;
    const int *border;
    double *panel;
} Front;

static Front front_at(const Fronts *t, int f)
{
    int p = t->start[f + 1] - t->start[f], u = t->edge[f + 1] - t->edge[f];
    return (Front){p, u, p + u, t->border + t->edge[f], t->panels + t->panel[f]};
}

/* Add what a child passes on to the panel of a front and to what that passes on. */
static void add_child(const Front *own, double *rest, int u, const int *into, const double *passed)
{
    for (int j = 0; j < u; j++) {
        double *column = into[j] < own->p ? own->panel + (long)into[j] * own->size
                                          : rest + (long)(into[j] - own->p) * own->u - own->p;
        for (int i = j; i < u; i++)
            column[into[i]] += passed[(long)j * u + i];
    }
}

/* Factorise the matrix with values in the pattern; 0 where it is not positive definite. */
int factorise_fronts(Fronts *t, const double *values)
{
    t->log_det = 0;
    for (int f = 0; f < t->count; f++) {
        Front own = front_at(t, f);
        double *rest = t->passed + t->place[f];
        int info;
        memset(own.panel, 0, sizeof(double) * own.size * own.p);
        memset(rest, 0, sizeof(double) * own.u * own.u);
        for (int k = t->entry[f]; k < t->entry[f + 1]; k++)
            own.panel[t->at[k]] = values[t->by_front[k]];
        for (int k = t->child[f]; k < t->child[f + 1]; k++) {
            int c = t->children[k];
            add_child(&own, rest, t->edge[c + 1] - t->edge[c], t->into + t->edge[c], t->passed + t->place[c]);
        }
        lib.dpotrf("L", &own.p, own.panel, &own.size, &info);
        if (info)
            return 0;
        for (int i = 0; i < own.p; i++)
            t->log_det += 2 * log(own.panel[i * (own.size + 1l)]);
        if (own.u) {
            lib.dtrsm("R", "L", "T", "N", &own.u, &own.p, &one, own.panel, &own.size, own.panel + own.p, &own.size);
            lib.dsyrk("L", "N", &own.u, &own.p, &minus, own.panel + own.p, &own.size, &one, rest, &own.u);
        }
    }
    return isfinite(t->log_det);
}

/* Solve for columns (n, k), rows in the order of elimination; border holds (largest u, k). */
void solve_fronts(const Fronts *t, int k, double *X, double *border)
{
    for (int f = 0; f < t->count; f++) {
        Front front = front_at(t, f);
        double *own = X + (long)t->start[f] * k;
        lib.dtrsm("R", "L", "T", "N", &k, &front.p, &one, front.panel, &front.size, own, &k);
        lib.dgemm("N", "T", &k, &front.u, &front.p, &one, own, &k, front.panel + front.p, &front.size, &zero, border, &k);
        for (int i = 0; i < front.u; i++)
            for (int j = 0; j < k; j++)
                X[(long)front.border[i] * k + j] -= border[(long)i * k + j];
    }
    for (int f = t->count - 1; f >= 0; f--) {
        Front front = front_at(t, f);
        double *own = X + (long)t->start[f] * k;
        for (int i = 0; i < front.u; i++)
            memcpy(border + (long)i * k, X + (long)front.border[i] * k, sizeof(double) * k);
        lib.dgemm("N", "N", &k, &front.p, &front.u, &minus, border, &k, front.panel + front.p, &front.size, &one, own, &k);
        lib.dtrsm("R", "L", "N", "N", &k, &front.p, &one, front.panel, &front.size, own, &k);
    }
}

/* The inverse on the border of a child, from that of its parent on pivots, `S`, and border, `corner`. */
static void pass_down(const Front *own, const double *S, const double *corner, int u, const int *into, double *out)
{
    for (int j = 0; j < u; j++) {
        const double *column = into[j] < own->p ? S + (long)into[j] * own->size
                                                : corner + (long)(into[j] - own->p) * own->u - own->p;
        for (int i = j; i < u; i++)
            out[(long)j * u + i] = column[into[i]];
    }
}

/* Entries of the inverse in the pattern; S and Y hold the largest panel each. */
void invert_fronts(const Fronts *t, double *entries, double *S, double *Y)
{
    for (int f = t->count - 1; f >= 0; f--) {
        Front own = front_at(t, f);
        int p = own.p, u = own.u, size = own.size, info;
        double *corner = t->passed + t->place[f];
        for (int j = 0; j < p; j++) {
            memcpy(S + (long)j * size + j, own.panel + (long)j * size + j, sizeof(double) * (p - j));
            memcpy(Y + (long)j * u, own.panel + (long)j * size + p, sizeof(double) * u);
        }
        lib.dpotri("L", &p, S, &size, &info);
        if (u) {
            lib.dtrsm("R", "L", "N", "N", &u, &p, &one, own.panel, &size, Y, &u);
            lib.dsymm("L", "L", &u, &p, &minus, corner, &u, Y, &u, &zero, S + p, &size);
            lib.dgemm("T", "N", &p, &p, &u, &minus, Y, &u, S + p, &size, &one, S, &size);
        }
        for (int k = t->entry[f]; k < t->entry[f + 1]; k++)
            entries[t->by_front[k]] = S[t->at[k]];
        for (int k = t->child[f]; k < t->child[f + 1]; k++) {
            int c = t->children[k];
            pass_down(&own, S, corner, t->edge[c + 1] - t->edge[c], t->into + t->edge[c], t->passed + t->place[c]);
        }
    }
}
