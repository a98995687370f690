/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CHOKeW: S. Wen, Y. Fang, H. Sun, "CHOKeW: bandwidth differentiation and TCP protection in core networks", MILCOM 2005. The
 * decisions are those of docs/reference/disciplines/chokew.md, in integers. */
#ifndef FAIRDROP_CHOKEW_H
#define FAIRDROP_CHOKEW_H

#include "../red/red.h"

#define FD_CLASSES 16
/* Bound of the drawing factor, packets: far above the draws of any arrival. */
#define FD_MOST_FACTOR ((fd_q32)32768 << 32)
/* Weights have 16 binary places: from 1 to 1,000,000. */
#define FD_WEIGHT_ONE 65536ull
#define FD_MOST_WEIGHT (1000000 * FD_WEIGHT_ONE)

struct fd_chokew_params {
    struct fd_red_params red;
    fd_q32 l_th;
    fd_q32 l_minus;
    fd_q32 l_plus;
    fd_q32 p_plus;
    fd_q32 p_minus;
    fd_u64 weights[FD_CLASSES]; /* one for each class; a class without one of its own has the lowest */
    fd_u32 max_draws;           /* for an arrival; 0: the number of waiting packets */
    fd_u32 with_red;
};

struct fd_chokew {
    struct fd_red red;
    fd_q32 drawing_factor; /* p0 */
};

FD_INLINE int fd_chokew_valid(const struct fd_chokew_params *params)
{
    const fd_q32 most = (fd_q32)FD_MOST_PACKETS << 32;
    int valid = params->l_th < params->l_minus && params->l_minus < params->l_plus && params->l_plus <= most &&
                params->p_plus <= FD_MOST_FACTOR && params->p_minus <= FD_MOST_FACTOR && params->with_red <= 1;
    fd_repeat(i, FD_CLASSES) {
        fd_u64 weight = params->weights[i & (FD_CLASSES - 1)];
        if (weight < FD_WEIGHT_ONE || weight > FD_MOST_WEIGHT)
            return 0;
    }
    return valid && (!params->with_red || fd_red_valid(&params->red));
}

/* Moves the drawing factor, once for each arrival, by the queue that it finds. */
FD_INLINE void fd_chokew_update(struct fd_chokew *chokew, const struct fd_chokew_params *params, fd_u32 waiting)
{
    fd_q32 queue = (fd_q32)waiting << 32, p0 = chokew->drawing_factor;
    if (queue < params->l_minus)
        p0 = p0 > params->p_minus ? p0 - params->p_minus : 0;
    if (queue > params->l_plus) {
        p0 += params->p_plus;
        if (p0 > FD_MOST_FACTOR)
            p0 = FD_MOST_FACTOR;
    }
    chokew->drawing_factor = p0;
}

/* Draws for an arrival: p0 / weight in expectation, and no more than packets wait. */
FD_INLINE fd_u32 fd_chokew_draws(struct fd_host *host, const struct fd_chokew *chokew,
                                 const struct fd_chokew_params *params, fd_u32 waiting, fd_u32 class)
{
    fd_q32 factor = chokew->drawing_factor * FD_WEIGHT_ONE / params->weights[class & (FD_CLASSES - 1)];
    fd_u32 wanted = (fd_u32)(factor >> 32) + (fd_random(host, FD_DRAWING_FRACTION) < (fd_u32)factor);
    fd_u32 most = params->max_draws && params->max_draws < waiting ? params->max_draws : waiting;
    return wanted < most ? wanted : most;
}

/* Draws until a packet has the arrival's flow and is dropped. Whether one was. */
FD_INLINE int fd_chokew_match(struct fd_host *host, struct fd_ring *ring, fd_u32 wanted, fd_u32 flow)
{
    fd_repeat(i, wanted) {
        fd_u32 number = fd_draw(host, ring);
        struct fd_slot *slot = fd_slot_at(host, fd_index(ring, number));
        if (number == FD_NO_PLACE || !slot)
            return 0;
        fd_compared(host, fd_index(ring, number));
        if (slot->flow == flow) {
            fd_discard(host, ring, number, FD_MATCH_QUEUED);
            return 1;
        }
    }
    return 0;
}

/* What becomes of an arrival; a waiting packet of its flow may be dropped with it. */
FD_INLINE fd_u32 fd_chokew_arrival(struct fd_host *host, struct fd_chokew *chokew, const struct fd_chokew_params *params,
                                   struct fd_ring *ring, fd_u32 limit, fd_u32 flow, fd_u32 class, fd_u32 len,
                                   int can_mark, fd_u64 now)
{
    fd_u32 waiting = ring->packets;
    enum fd_cause cause = FD_KEPT;
    fd_chokew_update(chokew, params, waiting);
    if (params->with_red)
        fd_red_update(&chokew->red, &params->red, waiting, now);
    if ((fd_q32)waiting << 32 > params->l_th) {
        fd_u32 wanted = fd_chokew_draws(host, chokew, params, waiting, class);
        if (fd_chokew_match(host, ring, wanted, flow))
            return FD_MATCH_ARRIVING;
    }
    if (params->with_red)
        cause = fd_red_decide(host, &chokew->red, &params->red, len);
    return fd_red_settle(&chokew->red, &params->red, cause, can_mark, ring->packets < limit);
}

#endif
