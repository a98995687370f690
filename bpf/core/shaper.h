/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rate of a qdisc that is the root of its device, where it can't sit below a shaper. As below a token bucket, a packet leaves
 * when it is taken, and the next one may be taken after the time that a link of this rate needs for it. */
#ifndef FAIRDROP_SHAPER_H
#define FAIRDROP_SHAPER_H

#include "types.h"

#define FD_NS_BITS 8000000000ull /* ns in a second, times bits in a byte */
/* A watchdog that is late by at most this is made up for, ns. */
#define FD_MOST_LATE 10000000ull

struct fd_shaper {
    fd_u64 rate;      /* bit/s; 0 for none */
    fd_u64 free_at;   /* ns: when the next packet may leave */
    fd_u64 remainder; /* of the last division, so that no time is lost over many packets */
    fd_u32 was_idle;  /* nothing waited: time that passed is not made up for */
};

/* Whether a packet may leave now. */
FD_INLINE int fd_may_send(const struct fd_shaper *shaper, fd_u64 now)
{
    return shaper->rate == 0 || now >= shaper->free_at;
}

/* Nothing waits. The time at which the link is idle. */
FD_INLINE fd_u64 fd_idle_from(struct fd_shaper *shaper, fd_u64 now)
{
    shaper->was_idle = 1;
    return shaper->rate && shaper->free_at > now ? shaper->free_at : now;
}

/* A packet of len bytes (below 2^30) leaves now. */
FD_INLINE void fd_sent(struct fd_shaper *shaper, fd_u32 len, fd_u64 now)
{
    fd_u64 scaled;
    if (shaper->rate == 0)
        return;
    if (now > shaper->free_at + (shaper->was_idle ? 0 : FD_MOST_LATE)) {
        shaper->free_at = now;
        shaper->remainder = 0;
    }
    shaper->was_idle = 0;
    scaled = len * FD_NS_BITS + shaper->remainder;
    shaper->free_at += scaled / shaper->rate;
    shaper->remainder = scaled % shaper->rate;
}

#endif
