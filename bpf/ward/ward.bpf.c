/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* WARD as a queue discipline. */
#include "../kernel/kernel.h"

#include "ward.h"

#define FD_NEEDS_CLOCK 0
#define FD_NEEDS_FLOW 1
typedef struct fd_ward_params fd_params;
typedef fd_u32 fd_state; /* none */

#include "../kernel/qdisc.h"

FD_INLINE int program_valid(const fd_params *params)
{
    return fd_ward_valid(params);
}

FD_INLINE void program_init(fd_u64 now)
{
}

FD_INLINE fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    return fd_ward_arrival(host, &own.active.params, &own.ring, own.active.limit, flow);
}

FD_INLINE void program_idle(fd_u64 now)
{
}
