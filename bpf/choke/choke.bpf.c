/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CHOKe as a queue discipline. */
#include "../kernel/kernel.h"

int draw_candidates(unsigned int wanted);
unsigned int draw_one(void);
unsigned int walk_to_weight(void);
int is_drawn(unsigned int number);
#define FD_CHOKE_DRAW(host, choke, params, ring, wanted) draw_candidates(wanted)
#define FD_CHOKE_DRAW_ONE(host, choke, params, ring) draw_one()
#define FD_WALK_TO_WEIGHT(host, ring, weights, drawn) walk_to_weight()
#define FD_IS_DRAWN(drawn, number) is_drawn(number)

#include "choke.h"

#define FD_NEEDS_CLOCK 0
#define FD_NEEDS_FLOW 1
typedef struct fd_choke_params fd_params;
typedef struct fd_choke fd_state;

#include "../kernel/qdisc.h"

/* These are not static, which makes the verifier follow each on its own. */
__attribute__((noinline)) int is_drawn(unsigned int number)
{
    return fd_is_drawn(&own.state.drawn, number);
}

__attribute__((noinline)) unsigned int walk_to_weight(void)
{
    return fd_walk_to_weight(0, &own.ring, &own.state.weights, own.active.params.replacement ? 0 : &own.state.drawn);
}

__attribute__((noinline)) unsigned int draw_one(void)
{
    return fd_choke_draw_one(0, &own.state, &own.active.params, &own.ring);
}

__attribute__((noinline)) int draw_candidates(unsigned int wanted)
{
    fd_choke_draw(0, &own.state, &own.active.params, &own.ring, wanted);
    return 0;
}

FD_INLINE int program_valid(const fd_params *params)
{
    return fd_choke_valid(params) && !(params->red.switches & FD_ECN);
}

FD_INLINE void program_init(fd_u64 now)
{
    fd_red_init(&own.state.red, now);
}

FD_INLINE fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    return fd_choke_arrival(host, &own.state, &own.active.params, &own.ring, own.active.limit, flow, len, 0, now);
}

FD_INLINE void program_idle(fd_u64 now)
{
    fd_red_idle(&own.state.red, now);
}
