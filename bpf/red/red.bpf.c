/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RED as a queue discipline: the control beside the others. */
#include "../kernel/kernel.h"

#include "red.h"

#define FD_NEEDS_CLOCK 0
#define FD_NEEDS_FLOW 0
typedef struct fd_red_params fd_params;
typedef struct fd_red fd_state;

#include "../kernel/qdisc.h"

FD_INLINE int program_valid(const fd_params *params)
{
    return fd_red_valid(params) && !(params->switches & FD_ECN);
}

FD_INLINE void program_init(fd_u64 now)
{
    fd_red_init(&own.state, now);
}

FD_INLINE fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    return fd_red_arrival(host, &own.state, &own.active.params, &own.ring, own.active.limit, len, 0, now);
}

FD_INLINE void program_idle(fd_u64 now)
{
    fd_red_idle(&own.state, now);
}
