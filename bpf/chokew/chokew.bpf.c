/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CHOKeW as a queue discipline: a packet's class is found by its DSCP. */
#include "../kernel/kernel.h"

#include "chokew.h"

#define FD_NEEDS_CLOCK 0
#define FD_NEEDS_FLOW 1
#define FD_DSCPS 64
#define FD_IPV4 __builtin_bswap16(0x0800)
#define FD_IPV6 __builtin_bswap16(0x86dd)

struct fd_classified_params {
    struct fd_chokew_params chokew;
    fd_u8 class_of_dscp[FD_DSCPS];
};

typedef struct fd_classified_params fd_params;
typedef struct fd_chokew fd_state;

#include "../kernel/qdisc.h"

FD_INLINE int program_valid(const fd_params *params)
{
    fd_u32 highest = 0;
    for (fd_u32 i = 0; i < FD_DSCPS; i++)
        highest |= params->class_of_dscp[i];
    return highest < FD_CLASSES && fd_chokew_valid(&params->chokew) && !(params->chokew.red.switches & FD_ECN);
}

FD_INLINE void program_init(fd_u64 now)
{
    fd_red_init(&own.state.red, now);
    own.state.drawing_factor = 0;
}

/* The class of a packet; what is neither IPv4 nor IPv6 has that of DSCP 0. */
FD_INLINE fd_u32 class_of(struct sk_buff *skb)
{
    __u8 begin[2] = {};
    fd_u32 dscp = 0;
    if (skb->protocol != FD_IPV4 && skb->protocol != FD_IPV6)
        return own.active.params.class_of_dscp[0];
    bpf_probe_read_kernel(begin, sizeof begin, skb->head + skb->network_header);
    if (skb->protocol == FD_IPV4)
        dscp = begin[1] >> 2;
    else
        dscp = (begin[0] & 15u) << 2 | begin[1] >> 6;
    return own.active.params.class_of_dscp[dscp & (FD_DSCPS - 1)];
}

FD_INLINE fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    return fd_chokew_arrival(host, &own.state, &own.active.params.chokew, &own.ring, own.active.limit, flow, class_of(skb), len, 0, now);
}

FD_INLINE void program_idle(fd_u64 now)
{
    fd_red_idle(&own.state.red, now);
}
