/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs use of the kernel: members of its structures, found at load time by name (CO-RE), and its functions for queue
 * disciplines (kfuncs). Written out here rather than generated from one kernel, so objects stay small and fit every kernel
 * from 6.17 on. */
#ifndef FAIRDROP_KERNEL_H
#define FAIRDROP_KERNEL_H

typedef __UINT8_TYPE__ __u8;
typedef __UINT16_TYPE__ __u16;
typedef __UINT32_TYPE__ __u32;
typedef __UINT64_TYPE__ __u64;
typedef __INT32_TYPE__ __s32;
typedef __INT64_TYPE__ __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* Of linux/bpf.h and linux/netdevice.h. */
enum { BPF_MAP_TYPE_ARRAY = 2 };
enum { NET_XMIT_SUCCESS = 0, NET_XMIT_DROP = 1, NET_XMIT_CN = 2 };
enum { EBUSY = 16, EINVAL = 22 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qdisc_skb_head { __u32 qlen; };
struct gnet_stats_queue { __u32 backlog; __u32 drops; };
struct Qdisc { __u32 limit; struct qdisc_skb_head q; struct gnet_stats_queue qstats; };
struct qdisc_skb_cb { unsigned char data[20]; };
struct sk_buff { unsigned char cb[48]; __be16 protocol; __u16 network_header; unsigned char *head; };
struct bpf_map { __u32 max_entries; };
struct bpf_sk_buff_ptr { unsigned long long skb; };
#pragma clang attribute pop
struct bpf_iter_num { __u64 opaque[1]; } __attribute__((aligned(8)));
struct nlattr;
struct netlink_ext_ack;
struct Qdisc_ops {
    int (*enqueue)(struct sk_buff *, struct Qdisc *, struct bpf_sk_buff_ptr *);
    struct sk_buff *(*dequeue)(struct Qdisc *);
    int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
    void (*reset)(struct Qdisc *);
    void (*destroy)(struct Qdisc *);
    char id[16];
};

extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free_list) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern __u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

#define FD_KPTR __attribute__((btf_type_tag("kptr")))

/* The loop of core/types.h by the kernel's iterator over numbers, whose body the verifier follows a few times instead of n. clang 16
 * takes a cleanup by a kfunc only where that is mentioned before. */
#define fd_repeat(i, n)                                                                                                \
    for (fd_u32 i = 0, i##_once = 1; i##_once; i##_once = 0)                                                           \
        for (struct bpf_iter_num i##_it __attribute__((cleanup(bpf_iter_num_destroy))),                                \
             *i##_none __attribute__((unused)) =                                                                       \
                 ((void)bpf_iter_num_destroy, bpf_iter_num_new(&i##_it, 0, (int)(n)), (struct bpf_iter_num *)0);       \
             ({                                                                                                        \
                 int *i##_next = bpf_iter_num_next(&i##_it);                                                           \
                 if (i##_next)                                                                                         \
                     i = (fd_u32)*i##_next;                                                                            \
                 i##_next != 0;                                                                                        \
             });)

#endif
