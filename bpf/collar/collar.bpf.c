/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* COLLAR as a queue discipline. */
#include "../kernel/kernel.h"

int init_state(unsigned long long now);
int update(unsigned long long now);
int widen(unsigned long long aim, long long change);
int sample(unsigned int id, unsigned int len, unsigned long long wait, unsigned long long now);
#define FD_COLLAR_INIT(collar, params, now) init_state(now)
#define FD_COLLAR_UPDATE(collar, params, limit, now) update(now)
#define FD_COLLAR_WIDEN(collar, params, aim, change) widen(aim, change)
#define FD_COLLAR_SAMPLE(host, collar, params, id, len, wait, now) sample(id, len, wait, now)

#include "collar.h"

#define FD_NEEDS_CLOCK 1
#define FD_NEEDS_FLOW 1
typedef struct fd_collar_params fd_params;
typedef struct fd_collar fd_state;

#include "../kernel/qdisc.h"

/* These are not static, which makes the verifier follow each on its own. */
__attribute__((noinline)) int init_state(unsigned long long now)
{
    fd_collar_init(&own.state, &own.active.params, now);
    return 0;
}

__attribute__((noinline)) int widen(unsigned long long aim, long long change)
{
    fd_collar_widen(&own.state, &own.active.params, aim, change);
    return 0;
}

__attribute__((noinline)) int update(unsigned long long now)
{
    fd_collar_update(&own.state, &own.active.params, own.active.limit, now);
    return 0;
}

__attribute__((noinline)) int sample(unsigned int id, unsigned int len, unsigned long long wait, unsigned long long now)
{
    fd_collar_sample(0, &own.state, &own.active.params, id, len, wait, now);
    return 0;
}

/* No kfunc writes to a packet's ECN field. */
FD_INLINE int program_valid(const fd_params *params)
{
    return fd_collar_valid(params) && !params->ecn;
}

/* The first packet begins, with the settings of that time. */
FD_INLINE void program_init(fd_u64 now)
{
}

/* 0 stands for no id. */
FD_INLINE fd_u32 id_of(fd_u32 flow)
{
    return flow ? flow : 1;
}

FD_INLINE fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    return fd_collar_arrival(host, &own.state, &own.active.params, own.ring.packets, own.active.limit, id_of(flow), len, 0, now);
}

FD_INLINE void program_departure(struct fd_host *host, fd_u32 flow, fd_u32 len, fd_u64 wait, fd_u64 now)
{
    fd_collar_departure(host, &own.state, &own.active.params, own.ring.packets, own.active.limit, id_of(flow), len, wait, now);
}

FD_INLINE void program_idle(fd_u64 now)
{
}
