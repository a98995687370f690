/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CHOKe: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for approximating fair bandwidth
 * allocation", INFOCOM 2000. The decisions are those of docs/reference/disciplines/choke.md, in integers. */
#ifndef FAIRDROP_CHOKE_H
#define FAIRDROP_CHOKE_H

#include "../red/red.h"

#define FD_MOST_REGIONS 16
/* No packet is longer, joined ones included. */
#define FD_MOST_LEN (1u << 20)

/* As in core/ring.h. */
#ifndef FD_CHOKE_DRAW
#define FD_CHOKE_DRAW fd_choke_draw
#define FD_CHOKE_DRAW_ONE fd_choke_draw_one
#endif

struct fd_choke_params {
    struct fd_red_params red;
    fd_u8 candidates[FD_MOST_REGIONS]; /* by equal regions between min_th and max_th; the last one's above */
    fd_u32 regions;                    /* 1: the same number at every average */
    fd_u32 from_head;                  /* candidates are the packets nearest the head, not drawn */
    fd_u32 replacement;                /* a packet may be drawn twice */
    fd_u32 count_on_match;             /* a matched arrival counts for the spacing of early drops */
    fd_u32 cell;                       /* unit of draws, bytes; 0: packets */
};

struct fd_choke {
    struct fd_red red;
    struct fd_drawn drawn;
    struct fd_weights weights;
};

FD_INLINE int fd_choke_valid(const struct fd_choke_params *params)
{
    int valid = params->regions >= 1 && params->regions <= FD_MOST_REGIONS && params->cell <= 65535;
    fd_repeat(i, FD_MOST_REGIONS) {
        if (i < params->regions && params->candidates[i & (FD_MOST_REGIONS - 1)] > FD_MOST_CANDIDATES)
            return 0;
    }
    return valid && fd_red_valid(&params->red);
}

/* Candidates at this average, which is at least min_th. */
FD_INLINE fd_u32 fd_choke_wanted(const struct fd_choke *choke, const struct fd_choke_params *params)
{
    const struct fd_red_params *red = &params->red;
    fd_u32 region = 0;
    if (params->regions > 1) {
        fd_u64 share = params->regions * (choke->red.avg - red->min_th) / (red->max_th - red->min_th);
        region = share < params->regions ? (fd_u32)share : params->regions - 1;
    }
    return params->candidates[region & (FD_MOST_REGIONS - 1)];
}

FD_INLINE fd_u32 fd_choke_draw_one(struct fd_host *host, struct fd_choke *choke,
                                   const struct fd_choke_params *params, struct fd_ring *ring)
{
    fd_u32 place;
    if (params->cell == 0)
        return fd_draw(host, ring);
    place = fd_draw_by_weight(host, ring, &choke->weights, params->replacement ? 0 : &choke->drawn);
    if (place == FD_NO_PLACE && ring->packets)
        fd_stuck(host);
    return place;
}

/* The wanted packets nearest the head. */
FD_INLINE void fd_choke_take_from_head(struct fd_host *host, struct fd_choke *choke, struct fd_ring *ring, fd_u32 wanted)
{
    fd_repeat(i, fd_span(ring)) {
        if (choke->drawn.count >= wanted)
            break;
        if (fd_len_at(host, ring, ring->head + i))
            fd_add_drawn(&choke->drawn, ring->head + i);
    }
}

/* Draws the wanted candidates, each once unless with replacement. To draw every packet needs no random number. */
FD_INLINE void fd_choke_draw(struct fd_host *host, struct fd_choke *choke, const struct fd_choke_params *params,
                             struct fd_ring *ring, fd_u32 wanted)
{
    struct fd_drawn *drawn = &choke->drawn;
    int all = wanted > 1 && ring->packets <= wanted && !params->replacement;
    drawn->count = drawn->tries = 0;
    if (all || params->from_head) {
        fd_choke_take_from_head(host, choke, ring, wanted);
        return;
    }
    fd_repeat(i, FD_MOST_REDRAWS) {
        fd_u32 number;
        if (drawn->tries >= wanted)
            return;
        number = FD_CHOKE_DRAW_ONE(host, choke, params, ring);
        if (number == FD_NO_PLACE)
            return;
        if (!FD_IS_DRAWN(drawn, number))
            fd_add_drawn(drawn, number);
        else if (!params->replacement)
            continue;
        drawn->tries++;
    }
    fd_stuck(host);
}

/* Compares an arrival of this flow with a waiting packet, which is dropped when it is of that flow. Whether it was. */
FD_INLINE int fd_choke_compare(struct fd_host *host, struct fd_ring *ring, fd_u32 number, fd_u32 flow)
{
    struct fd_slot *slot = fd_slot_at(host, fd_index(ring, number));
    if (number == FD_NO_PLACE || !slot)
        return 0;
    fd_compared(host, fd_index(ring, number));
    if (slot->flow != flow)
        return 0;
    fd_discard(host, ring, number, FD_MATCH_QUEUED);
    return 1;
}

/* Compares an arrival of this flow with candidates; those of its flow are dropped. Whether there were any. */
FD_INLINE int fd_choke_match(struct fd_host *host, struct fd_choke *choke, const struct fd_choke_params *params,
                             struct fd_ring *ring, fd_u32 flow)
{
    fd_u32 wanted = fd_choke_wanted(choke, params);
    int matched = 0;
    if (wanted == 0 || ring->packets == 0)
        return 0;
    if (wanted == 1 && !params->from_head) {
        choke->drawn.count = 0;
        matched = fd_choke_compare(host, ring, FD_CHOKE_DRAW_ONE(host, choke, params, ring), flow);
    } else {
        FD_CHOKE_DRAW(host, choke, params, ring, wanted);
        fd_repeat(i, choke->drawn.count)
            matched |= fd_choke_compare(host, ring, choke->drawn.place[i & (FD_MOST_CANDIDATES - 1)], flow);
    }
    if (matched && params->count_on_match && choke->red.count < 0x7fffffff)
        choke->red.count++;
    return matched;
}

/* Takes over another unit of draws. What waits may be heavier in it than all that was weighed. */
FD_INLINE void fd_choke_weigh_in_cells(struct fd_choke *choke, fd_u32 cell)
{
    if (choke->weights.cell == cell)
        return;
    choke->weights.cell = cell;
    choke->weights.heaviest = fd_weight(&choke->weights, FD_MOST_LEN);
}

/* An arrival is to be queued. */
FD_INLINE void fd_choke_weigh_in(struct fd_choke *choke, const struct fd_ring *ring, fd_u32 len)
{
    fd_u32 weight = fd_weight(&choke->weights, len);
    if (ring->packets == 0 || weight > choke->weights.heaviest)
        choke->weights.heaviest = weight;
}

/* What becomes of an arrival; waiting packets of its flow may be dropped with it. */
FD_INLINE fd_u32 fd_choke_arrival(struct fd_host *host, struct fd_choke *choke, const struct fd_choke_params *params,
                                  struct fd_ring *ring, fd_u32 limit, fd_u32 flow, fd_u32 len, int can_mark, fd_u64 now)
{
    enum fd_cause cause;
    fd_u32 fate;
    fd_choke_weigh_in_cells(choke, params->cell);
    fd_red_update(&choke->red, &params->red, ring->packets, now);
    if (!fd_red_below_min(&choke->red, &params->red) && fd_choke_match(host, choke, params, ring, flow))
        return FD_MATCH_ARRIVING;
    cause = fd_red_decide(host, &choke->red, &params->red, len);
    fate = fd_red_settle(&choke->red, &params->red, cause, can_mark, ring->packets < limit);
    if (params->cell && (fate == FD_KEPT || fate & FD_MARKED))
        fd_choke_weigh_in(choke, ring, len);
    return fate;
}

#endif
