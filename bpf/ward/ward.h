/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* WARD: C.-Y. Ho, Y.-C. Chan, Y.-C. Chen, "A TCP-friendly stateless AQM scheme for fair bandwidth allocation", section 3.1. The
 * decisions are those of docs/reference/disciplines/ward.md. */
#ifndef FAIRDROP_WARD_H
#define FAIRDROP_WARD_H

#include "../core/ring.h"

#define FD_TENTHS 10

struct fd_ward_params {
    fd_u32 full_case3_drops; /* an arrival at a full buffer is dropped although a pair of another flow leaves */
};

FD_INLINE int fd_ward_valid(const struct fd_ward_params *params)
{
    return params->full_case3_drops <= 1;
}

/* Whether an arrival is compared: with a probability of as many tenths as its position weighs. */
FD_INLINE int fd_ward_is_compared(struct fd_host *host, fd_u32 waiting, fd_u32 limit)
{
    fd_u64 tenths = waiting >= limit ? FD_TENTHS : FD_TENTHS * ((fd_u64)waiting + 1) / limit;
    if (tenths == 0 || tenths == FD_TENTHS)
        return tenths != 0;
    return fd_below(host, FD_WARD_COIN, FD_TENTHS) < tenths;
}

/* Another waiting packet than the first. */
FD_INLINE fd_u32 fd_ward_second(struct fd_host *host, struct fd_ring *ring, fd_u32 first)
{
    if (first == FD_NO_PLACE || ring->packets < 2)
        return FD_NO_PLACE;
    fd_repeat(i, FD_MOST_REDRAWS + 1) {
        fd_u32 second = fd_draw(host, ring);
        if (second != first)
            return second;
    }
    fd_stuck(host);
    return FD_NO_PLACE;
}

/* The flow of a packet that is compared, and whether there is one. */
FD_INLINE int fd_ward_look(struct fd_host *host, const struct fd_ring *ring, fd_u32 number, fd_u32 *flow)
{
    struct fd_slot *slot = fd_slot_at(host, fd_index(ring, number));
    if (number == FD_NO_PLACE || !slot)
        return 0;
    fd_compared(host, fd_index(ring, number));
    *flow = slot->flow;
    return 1;
}

/* Why an arrival is dropped by what it is compared with, or FD_KEPT. */
FD_INLINE enum fd_cause fd_ward_decide(struct fd_host *host, const struct fd_ward_params *params, struct fd_ring *ring,
                                       fd_u32 limit, fd_u32 flow)
{
    fd_u32 waiting = ring->packets, first, second, flow_i = 0, flow_j = 0;
    int has_i, has_j;
    if (!fd_ward_is_compared(host, waiting, limit))
        return FD_KEPT;
    first = fd_draw(host, ring);
    second = fd_ward_second(host, ring, first);
    has_i = fd_ward_look(host, ring, first, &flow_i);
    has_j = fd_ward_look(host, ring, second, &flow_j);
    if ((has_i && flow_i == flow) || (has_j && flow_j == flow)) {
        if (has_i && flow_i == flow)
            fd_discard(host, ring, first, FD_MATCH_QUEUED);
        if (has_j && flow_j == flow)
            fd_discard(host, ring, second, FD_MATCH_QUEUED);
        return FD_MATCH_ARRIVING;
    }
    if (!has_i || !has_j || flow_i != flow_j)
        return FD_KEPT;
    fd_discard(host, ring, first, FD_WARD_PAIR_QUEUED);
    fd_discard(host, ring, second, FD_WARD_PAIR_QUEUED);
    return waiting >= limit && params->full_case3_drops ? FD_OVERFLOW : FD_KEPT;
}

/* What becomes of an arrival; up to two waiting packets may be dropped. */
FD_INLINE fd_u32 fd_ward_arrival(struct fd_host *host, const struct fd_ward_params *params, struct fd_ring *ring,
                                 fd_u32 limit, fd_u32 flow)
{
    enum fd_cause cause = fd_ward_decide(host, params, ring, limit, flow);
    if (cause == FD_KEPT && ring->packets >= limit)
        return FD_OVERFLOW;
    return cause;
}

#endif
