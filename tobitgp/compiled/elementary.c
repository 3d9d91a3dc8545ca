/* Elementary functions of arrays, in plain C that compilers turn into vector instructions. */
#include <stdint.h>
#include <string.h>
#include "core.h"

/* Exponentials in place, to some 2e-16: e^x = 2^k e^r with |r| <= log(2) / 2 and a polynomial in r. */
VECTORISED void fill_exp(double *x, long n)
{
    const double shift = 0x1.8p52; /* adding it rounds to a whole number, held in the lowest bits */
    for (long i = 0; i < n; i++) {
        double v = x[i] < -708 ? -708 : x[i] > 709 ? 709 : x[i];
        double rounded = v * 1.4426950408889634 + shift, k = rounded - shift;
        double r = (v - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
        double e = 1. / 479001600;
        e = e * r + 1. / 39916800;
        e = e * r + 1. / 3628800;
        e = e * r + 1. / 362880;
        e = e * r + 1. / 40320;
        e = e * r + 1. / 5040;
        e = e * r + 1. / 720;
        e = e * r + 1. / 120;
        e = e * r + 1. / 24;
        e = e * r + 1. / 6;
        e = e * r + .5;
        e = e * r + 1;
        e = e * r + 1;
        uint64_t bits, power;
        memcpy(&bits, &e, 8);
        memcpy(&power, &rounded, 8);
        bits += power << 52;
        memcpy(&x[i], &bits, 8);
    }
}

/* Logarithms in place, to some 2e-16 of max(1, their size), of positive numbers: log x = k log(2) + 2 atanh(u). */
VECTORISED void fill_log(double *x, long n)
{
    const uint64_t root = 0x3fe6a09e667f3bcd, mantissa = 0xfffffffffffff; /* of the root of 1/2 */
    for (long i = 0; i < n; i++) {
        uint64_t bits, shifted;
        memcpy(&bits, &x[i], 8);
        shifted = bits - root;
        int64_t k = (int64_t)shifted >> 52;
        bits = (shifted & mantissa) + root;
        double m;
        memcpy(&m, &bits, 8);
        double u = (m - 1) / (m + 1), square = u * u, sum = 1. / 23;
        for (int j = 21; j > 0; j -= 2)
            sum = sum * square + 1. / j;
        x[i] = k * 6.93147180369123816490e-01 + (2 * u * sum + k * 1.90821492927058770002e-10);
    }
}
