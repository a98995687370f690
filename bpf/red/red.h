/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RED: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", 1993. The decisions are those of
 * docs/reference/disciplines/red.md, in integers. */
#ifndef FAIRDROP_RED_H
#define FAIRDROP_RED_H

#include "../core/fixed.h"
#include "../core/ring.h"

enum fd_red_switch {
    FD_GENTLE = 1,
    FD_WAIT = 2,
    FD_INDEPENDENT = 4,
    FD_BYTE_MODE = 8,
    FD_ECN = 16,
};

struct fd_red_params {
    fd_q32 min_th;
    fd_q32 max_th;
    fd_q32 max_p;
    fd_q32 w_q;
    fd_u64 mean_packet_time; /* ns */
    fd_u32 mean_packet_size; /* bytes */
    fd_u32 switches;
};

struct fd_red {
    fd_q32 avg;
    fd_u64 idle_since; /* ns */
    fd_s32 count;      /* arrivals over min_th since the last early drop; -1 when the average was below */
    fd_u32 is_idle;    /* a packet was asked for and none waited */
};

/* Whether a program may work with these. */
FD_INLINE int fd_red_valid(const struct fd_red_params *params)
{
    const fd_q32 most = (fd_q32)FD_MOST_PACKETS << 32, least_range = FD_ONE >> 8;
    return params->min_th < most && params->max_th <= most && params->max_th >= params->min_th + least_range &&
           params->max_p <= FD_ONE && params->w_q >= 1 && params->w_q <= FD_ONE && params->mean_packet_time >= 1 &&
           params->mean_packet_size >= 1 && params->mean_packet_size <= 65535 &&
           (params->switches & (FD_WAIT | FD_INDEPENDENT)) != (FD_WAIT | FD_INDEPENDENT) && params->switches < 2 * FD_ECN;
}

FD_INLINE void fd_red_init(struct fd_red *red, fd_u64 now)
{
    red->avg = 0;
    red->count = -1;
    red->is_idle = 1;
    red->idle_since = now;
}

/* Moves the average, once for each arrival; an idle link counts as arrivals of mean size to an empty queue. */
FD_INLINE void fd_red_update(struct fd_red *red, const struct fd_red_params *params, fd_u32 waiting, fd_u64 now)
{
    if (waiting == 0 && red->is_idle) {
        fd_u64 missed = (now > red->idle_since ? now - red->idle_since : 0) / params->mean_packet_time;
        if (missed)
            red->avg = fd_times(red->avg, fd_power(FD_ONE - params->w_q, missed));
        red->is_idle = 0;
    }
    red->avg = fd_follow(red->avg, (fd_q32)waiting << 32, params->w_q);
}

/* A packet was asked for and none waited: the link is idle, from the first time on. */
FD_INLINE void fd_red_idle(struct fd_red *red, fd_u64 now)
{
    if (!red->is_idle)
        red->idle_since = now;
    red->is_idle = 1;
}

/* Below min_th nothing is dropped early, and the spacing of drops starts over. */
FD_INLINE int fd_red_below_min(struct fd_red *red, const struct fd_red_params *params)
{
    int below = red->avg < params->min_th;
    if (below)
        red->count = -1;
    return below;
}

/* Whether a draw falls below the probability p, spaced by count packets: p / (1 - count p), without the division. */
FD_INLINE int fd_red_spaced(const struct fd_red_params *params, fd_q32 p, fd_u32 count, fd_u32 draw)
{
    fd_u64 progress = (fd_u64)count * p, one = FD_ONE, room;
    if (params->switches & FD_INDEPENDENT)
        return draw < p;
    if (params->switches & FD_WAIT) {
        if (progress < one)
            return 0;
        one = 2 * FD_ONE;
    }
    if (progress >= one)
        return 1;
    room = one - progress;
    return p >= room || draw * room < p << 32;
}

/* The cause that RED drops an arrival of len bytes for, or FD_KEPT. */
FD_INLINE enum fd_cause fd_red_decide(struct fd_host *host, struct fd_red *red, const struct fd_red_params *params,
                                      fd_u32 len)
{
    fd_q32 p;
    if (fd_red_below_min(red, params))
        return FD_KEPT;
    if (red->avg < params->max_th) {
        p = fd_ratio(fd_times(red->avg - params->min_th, params->max_p), params->max_th - params->min_th);
    } else if (params->switches & FD_GENTLE && red->avg < 2 * params->max_th) {
        p = params->max_p + fd_ratio(fd_times(red->avg - params->max_th, FD_ONE - params->max_p), params->max_th);
    } else {
        red->count = 0;
        return FD_RED_FORCED;
    }
    if (red->count < 0x7fffffff)
        red->count++;
    if (params->switches & FD_BYTE_MODE)
        p = p * (len & 0x7fffffff) / params->mean_packet_size;
    if (p > 2 * FD_ONE)
        p = 2 * FD_ONE;
    if (!fd_red_spaced(params, p, (fd_u32)red->count, fd_random(host, FD_EARLY_DROP)))
        return FD_KEPT;
    red->count = 0;
    return FD_RED_EARLY;
}

/* The fate of an arrival once a cause is known: a mark in place of RED's drop where the packet can carry one, an overflow where
 * there is no room. An overflow starts the spacing over. */
FD_INLINE fd_u32 fd_red_settle(struct fd_red *red, const struct fd_red_params *params, enum fd_cause cause,
                               int can_mark, int has_room)
{
    int marks = (cause == FD_RED_EARLY || cause == FD_RED_FORCED) && params->switches & FD_ECN && can_mark;
    if (cause != FD_KEPT && !marks)
        return cause;
    if (has_room)
        return marks ? cause | FD_MARKED : FD_KEPT;
    if (red->count > 0)
        red->count = 0;
    return FD_OVERFLOW;
}

/* What becomes of an arrival. */
FD_INLINE fd_u32 fd_red_arrival(struct fd_host *host, struct fd_red *red, const struct fd_red_params *params,
                                const struct fd_ring *ring, fd_u32 limit, fd_u32 len, int can_mark, fd_u64 now)
{
    enum fd_cause cause;
    fd_red_update(red, params, ring->packets, now);
    cause = fd_red_decide(host, red, params, len);
    return fd_red_settle(red, params, cause, can_mark, ring->packets < limit);
}

#endif
