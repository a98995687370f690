/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fixed-point numbers with 32 binary places. The kernel has no floating point, and the BPF machine no product of 128 bits. */
#ifndef FAIRDROP_FIXED_H
#define FAIRDROP_FIXED_H

#include "types.h"

/* A number of packets (below 2^16) or a probability (0 to 1), in units of 2^-32. */
typedef fd_u64 fd_q32;

#define FD_ONE ((fd_q32)1 << 32)

/* Packets beyond which no average is kept; thresholds from here on are never reached. */
#define FD_MOST_PACKETS 65536u

/* a * part, rounded to the nearest; part is at most 1, so neither half overflows. */
FD_INLINE fd_q32 fd_times(fd_q32 a, fd_q32 part)
{
    fd_u64 high = a >> 32, low = a & 0xffffffff;
    return high * part + ((low * part + (1u << 31)) >> 32);
}

/* a / b for a below 2^16 and b from 2^-16: b is cut to 16 binary places, so the quotient of whole packets is exact but for the
 * last place. */
FD_INLINE fd_q32 fd_ratio(fd_q32 a, fd_q32 b)
{
    return (a << 16) / (b >> 16);
}

/* One step of an exponentially weighted average. */
FD_INLINE fd_q32 fd_follow(fd_q32 average, fd_q32 sample, fd_q32 weight)
{
    if (sample >= average)
        return average + fd_times(sample - average, weight);
    return average - fd_times(average - sample, weight);
}

/* base to a whole power, by squaring; base is at most 1. */
FD_INLINE fd_q32 fd_power(fd_q32 base, fd_u64 exponent)
{
    fd_q32 result = FD_ONE;
    fd_repeat(bit, 64) {
        if (exponent == 0 || result == 0)
            break;
        if (exponent & 1)
            result = fd_times(result, base);
        base = fd_times(base, base);
        exponent >>= 1;
    }
    return result;
}

#endif
