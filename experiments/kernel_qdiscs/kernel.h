/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As much of the kernel as its queue disciplines ask for: packets without data, one clock, one source of random numbers.
 *
 * Every file of net/sched is compiled with this before it. Headers of the kernel that hold decisions (red.h, codel_impl.h,
 * pie.h, reciprocal_div.h, pkt_sched.h of the user interface) are its own; the others are empty files.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>
#include <asm/types.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef s64 ktime_t;
typedef u64 psched_time_t;
typedef u64 netdev_features_t;
typedef int gfp_t;
typedef int spinlock_t;

#define __init
#define __exit
#define __rcu
#define __read_mostly
#define __always_unused
#define __maybe_unused __attribute__((unused))
#define likely(x) (x)
#define unlikely(x) (x)
#define fallthrough __attribute__((fallthrough))
#define IS_ENABLED(option) 0
#define BUG() abort()
#define WARN_ON_ONCE(x) (x)
#define BUILD_BUG_ON(x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define BIT(n) (1UL << (n))
#define U64_MAX UINT64_MAX
#define U32_MAX UINT32_MAX
#define WARN(condition, ...) (condition)
#define BITS_PER_BYTE 8
#define KTIME_MAX INT64_MAX
#define PTR_ERR(p) ((long)(p))
#define IS_ERR(p) ((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p) (!(p) || IS_ERR(p))
#define ERR_PTR(error) ((void *)(long)(error))
#define MODULE_LICENSE(x)
#define MODULE_VERSION(x)
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_ALIAS_NET_SCH(x)
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define THIS_MODULE NULL
#define typecheck(type, x) 1
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define htons(x) __cpu_to_be16(x)
#define ntohs(x) __be16_to_cpu(x)
#define ntohl(x) __be32_to_cpu(x)
#define cpu_to_be32(x) __cpu_to_be32(x)
#define SZ_32M (32u << 20)

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)
#define swap(a, b) \
    do { \
        __typeof__(a) swapped = (a); \
        (a) = (b); \
        (b) = swapped; \
    } while (0)
#define do_div(n, base) \
    ({ \
        u64 rest = (n) % (base); \
        (n) = (n) / (base); \
        rest; \
    })
#define DIV_ROUND_UP(x, divisor) (((x) + (divisor) - 1) / (divisor))
#define DIV_ROUND_CLOSEST(x, divisor) (((x) + (divisor) / 2) / (divisor))

static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
static inline u32 upper_32_bits(u64 x) { return (u32)(x >> 32); }
static inline u32 lower_32_bits(u64 x) { return (u32)x; }
static inline u64 div_u64(u64 a, u64 b) { return a / b; }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline unsigned long __ffs(unsigned long x) { return (unsigned long)__builtin_ctzl(x); }
static inline unsigned long roundup_pow_of_two(unsigned long n)
{
    return n <= 1 ? 1 : 1UL << (64 - __builtin_clzl(n - 1));
}
static inline u32 reciprocal_scale(u32 value, u32 bound) { return (u32)(((u64)value * bound) >> 32); }

/* The clock, and the timers that it drives: jiffies of 4 ms, as Debian's kernels have them. */
#define HZ 250
#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL
#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL
#define MSEC_PER_SEC 1000ULL
#define NSEC_PER_JIFFY (NSEC_PER_SEC / HZ)
#define PSCHED_SHIFT 6
#define PSCHED_TICKS2NS(x) ((s64)(x) << PSCHED_SHIFT)
#define PSCHED_NS2TICKS(x) ((x) >> PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
#define time_after(a, b) ((long)((b) - (a)) < 0)

extern u64 kernel_now_ns;
#define jiffies ((unsigned long)(kernel_now_ns / NSEC_PER_JIFFY))

static inline u64 ktime_get_ns(void) { return kernel_now_ns; }
static inline ktime_t ktime_get(void) { return (ktime_t)kernel_now_ns; }
static inline psched_time_t psched_get_time(void) { return PSCHED_NS2TICKS(kernel_now_ns); }
static inline s64 ktime_to_ns(ktime_t t) { return t; }
static inline s64 ktime_to_us(ktime_t t) { return t / 1000; }
static inline s64 ktime_us_delta(ktime_t later, ktime_t earlier) { return (later - earlier) / 1000; }
static inline ktime_t ktime_sub(ktime_t a, ktime_t b) { return a - b; }
static inline ktime_t ktime_add_ns(ktime_t t, u64 ns) { return t + (s64)ns; }
static inline ktime_t ktime_sub_ns(ktime_t t, u64 ns) { return t - (s64)ns; }
static inline ktime_t ktime_add(ktime_t a, ktime_t b) { return a + b; }
static inline ktime_t ktime_add_ms(ktime_t t, u64 ms) { return t + (s64)(ms * NSEC_PER_MSEC); }
static inline bool ktime_before(ktime_t a, ktime_t b) { return a < b; }
static inline bool ktime_after(ktime_t a, ktime_t b) { return a > b; }
static inline int ktime_compare(ktime_t a, ktime_t b) { return a < b ? -1 : a > b; }
static inline unsigned long usecs_to_jiffies(unsigned int us)
{
    return (us + USEC_PER_SEC / HZ - 1) / (USEC_PER_SEC / HZ);
}
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
    return (ms + MSEC_PER_SEC / HZ - 1) / (MSEC_PER_SEC / HZ);
}
static inline unsigned int jiffies_to_usecs(unsigned long j) { return (unsigned int)(j * (USEC_PER_SEC / HZ)); }
static inline unsigned int jiffies_to_msecs(unsigned long j) { return (unsigned int)(j * (MSEC_PER_SEC / HZ)); }

struct timer_list {
    void (*function)(struct timer_list *);
    unsigned long expires;
    bool pending;
};
void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *), unsigned int flags);
void mod_timer(struct timer_list *timer, unsigned long expires);
void del_timer_sync(struct timer_list *timer);
#define del_timer del_timer_sync
#define timer_delete_sync del_timer_sync
#define from_timer(var, timer, member) container_of(timer, __typeof__(*var), member)
#define timer_container_of(var, timer, member) container_of(timer, __typeof__(*var), member)

/* Timers of the clock's own resolution. */
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum { HRTIMER_MODE_ABS_PINNED_SOFT = 1 };
struct hrtimer {
    enum hrtimer_restart (*function)(struct hrtimer *);
    u64 expires;
    bool pending;
};
void hrtimer_start(struct hrtimer *timer, ktime_t expires, int mode);
#define hrtimer_setup(timer, called, clock, mode) ((timer)->function = (called))
static inline void hrtimer_set_expires(struct hrtimer *timer, ktime_t expires) { timer->expires = (u64)expires; }
static inline void hrtimer_cancel(struct hrtimer *timer) { timer->pending = false; }

/* Random numbers: the next 64 bits of the test; shorter numbers are their upper bits. */
u64 kernel_random(void);
static inline u16 get_random_u16(void) { return (u16)(kernel_random() >> 48); }
static inline u32 get_random_u32(void) { return (u32)(kernel_random() >> 32); }
u32 get_random_u32_below(u32 bound);
void get_random_bytes(void *to, size_t length);

/* Lists. */
struct list_head {
    struct list_head *next, *prev;
};
static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline bool list_empty(const struct list_head *list) { return list->next == list; }
static inline void list_unlink(struct list_head *entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
}
static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
    entry->next = list;
    entry->prev = list->prev;
    list->prev->next = entry;
    list->prev = entry;
}
static inline void list_del_init(struct list_head *entry)
{
    list_unlink(entry);
    INIT_LIST_HEAD(entry);
}
static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
    list_unlink(entry);
    list_add_tail(entry, list);
}
#define list_first_entry(list, type, member) container_of((list)->next, type, member)
#define list_for_each(position, list) for (position = (list)->next; position != (list); position = position->next)

/* Packets: what a discipline may ask of one, and no data. */
struct skb_shared_info {
    unsigned short gso_size, gso_segs;
    unsigned int gso_type;
};
struct sk_buff {
    struct sk_buff *next, *prev;
    unsigned int len, truesize;
    u32 hash, mark, priority;
    u16 protocol;
    u8 l4_hash, ecn;
    char *end;
    u64 id, flow, source, destination;
    u64 marked_by; /* the call that marked it; 0 for none */
    struct skb_shared_info shared;
    unsigned long cb[16];
};
enum { SKB_GSO_DODGY = 1, SKB_GSO_TCPV4 = 2, SKB_GSO_TCPV6 = 4 };
#define NETIF_F_GSO_MASK 0
#define prefetch(x) ((void)(x))

struct qdisc_skb_cb {
    unsigned int pkt_len;
    u16 pkt_segs;
    unsigned char data[96] __attribute__((aligned(8)));
};
static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb) { return (struct qdisc_skb_cb *)skb->cb; }
static inline void qdisc_cb_private_validate(const struct sk_buff *skb, size_t size) { (void)skb, (void)size; }
static inline unsigned int qdisc_pkt_len(const struct sk_buff *skb) { return qdisc_skb_cb(skb)->pkt_len; }
static inline void skb_mark_not_on_list(struct sk_buff *skb) { skb->next = NULL; }
static inline const struct skb_shared_info *skb_shinfo(const struct sk_buff *skb) { return &skb->shared; }
static inline bool skb_is_gso(const struct sk_buff *skb) { return skb->shared.gso_size != 0; }
static inline int skb_network_offset(const struct sk_buff *skb) { (void)skb; return 14; }
static inline int skb_transport_offset(const struct sk_buff *skb) { (void)skb; return 34; }
static inline void *skb_header_pointer(const struct sk_buff *skb, int offset, int length, void *buffer)
{
    (void)skb, (void)offset, (void)length, (void)buffer;
    return NULL;
}
static inline __be16 skb_protocol(const struct sk_buff *skb, bool skip) { (void)skip; return skb->protocol; }
static inline bool pskb_may_pull(struct sk_buff *skb, unsigned int length) { (void)skb, (void)length; return false; }
static inline int skb_try_make_writable(struct sk_buff *skb, unsigned int length) { (void)skb, (void)length; return -ENOMEM; }
static inline netdev_features_t netif_skb_features(struct sk_buff *skb) { (void)skb; return 0; }
static inline struct sk_buff *skb_gso_segment(struct sk_buff *skb, netdev_features_t f) { (void)skb, (void)f; return NULL; }
#define skb_list_walk_safe(first, skb, following) \
    for ((skb) = (first), (following) = (skb) ? (skb)->next : NULL; (skb); \
         (skb) = (following), (following) = (skb) ? (skb)->next : NULL)
static inline struct iphdr *ip_hdr(const struct sk_buff *skb) { (void)skb; return NULL; }
static inline struct ipv6hdr *ipv6_hdr(const struct sk_buff *skb) { (void)skb; return NULL; }
static inline u8 ipv4_get_dsfield(const struct iphdr *header) { return header->tos; }
static inline u8 ipv6_get_dsfield(const struct ipv6hdr *header) { (void)header; return 0; }
#define ipv4_change_dsfield(header, mask, value) ((void)(header))
#define ipv6_change_dsfield(header, mask, value) ((void)(header))
static inline int ipv6_addr_cmp(const struct in6_addr *a, const struct in6_addr *b) { return memcmp(a, b, sizeof *a); }
static inline unsigned int iph_totlen(const struct sk_buff *skb, const struct iphdr *h) { (void)skb; return ntohs(h->tot_len); }
static inline unsigned int ipv6_payload_len(const struct sk_buff *skb, const struct ipv6hdr *h) { (void)skb; return ntohs(h->payload_len); }
static inline unsigned int __tcp_hdrlen(const struct tcphdr *header) { return header->doff * 4u; }
static inline u32 get_unaligned_be32(const void *from)
{
    u32 value;
    memcpy(&value, from, sizeof value);
    return ntohl(value);
}
static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b) before(b, a)
struct tcp_sack_block_wire {
    __be32 start_seq, end_seq;
};
enum { TCPOPT_NOP = 1, TCPOPT_EOL = 0, TCPOPT_MSS = 2, TCPOPT_WINDOW = 3, TCPOPT_SACK_PERM = 4, TCPOPT_SACK = 5,
       TCPOPT_TIMESTAMP = 8, TCPOPT_MD5SIG = 19, TCPOPT_FASTOPEN = 34, TCPOPT_EXP = 254, TCPOLEN_TIMESTAMP = 10, TCPOLEN_SACK_BASE = 2, TCPOLEN_MSS = 4,
       TCPOLEN_SACK_PERM = 2, TCPOLEN_WINDOW = 3 };

/* The ECN field, which alone of the header has a place in the packet. */
enum { INET_ECN_NOT_ECT = 0, INET_ECN_ECT_1 = 1, INET_ECN_ECT_0 = 2, INET_ECN_CE = 3, INET_ECN_MASK = 3 };
int INET_ECN_set_ce(struct sk_buff *skb);
static inline int skb_get_dsfield(struct sk_buff *skb) { return skb->ecn; }

/* Flows: numbers that the test gives. */
struct flow_keys {
    struct { u16 thoff, addr_type; u32 flags; } control;
    struct { u16 n_proto; u8 ip_proto; } basic;
    struct { u32 flow_label; } tags;
    struct { u32 keyid; } keyid;
    struct { union { u32 ports; struct { u16 src, dst; }; }; } ports;
    struct { struct { u64 src, dst; } v4addrs; struct { struct in6_addr src, dst; } v6addrs; } addrs;
    u64 flow;
};
struct flow_keys_digest {
    u8 data[16];
};
enum { FLOW_DISSECTOR_KEY_IPV4_ADDRS = 1, FLOW_DISSECTOR_KEY_IPV6_ADDRS = 2, FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL = 2 };
typedef struct {
    u64 key[2];
} siphash_key_t;
bool skb_flow_dissect_flow_keys(const struct sk_buff *skb, struct flow_keys *keys, unsigned int flags);
void make_flow_keys_digest(struct flow_keys_digest *digest, const struct flow_keys *keys);
u32 flow_hash_from_keys(struct flow_keys *keys);
u32 skb_get_hash(const struct sk_buff *skb);
u32 skb_get_hash_perturb(const struct sk_buff *skb, const siphash_key_t *key);
static inline u32 siphash_1u32(u32 word, const siphash_key_t *key) { (void)key; return word; }

/* Attributes: the caller hands a table of them, as `nla_parse` would have made it. */
struct netlink_ext_ack;
struct nlattr {
    const void *data;
    u32 number;
};
struct nla_policy {
    int type, len, strict_start_type;
    const void *validation;
};
struct nla_bitfield32 {
    u32 value, selector;
};
struct netlink_range_validation {
    u64 min, max;
};
enum { NLA_U8 = 1, NLA_U16, NLA_U32, NLA_U64, NLA_S32, NLA_FLAG, NLA_NESTED, NLA_BITFIELD32 };
#define NLA_POLICY_BITFIELD32(valid) { .type = NLA_BITFIELD32 }
#define NLA_POLICY_FULL_RANGE(kind, range) { .type = kind, .validation = range }
#define NLA_POLICY_MIN(kind, low) { .type = kind }
#define NLA_POLICY_MAX(kind, high) { .type = kind }
#define NLA_POLICY_RANGE(kind, low, high) { .type = kind }
#define NL_SET_ERR_MSG(ack, text) ((void)(ack))
#define NL_SET_ERR_MSG_MOD(ack, text) ((void)(ack))
#define NL_SET_ERR_MSG_ATTR(ack, attribute, text) ((void)(ack), (void)(attribute))
#define NL_SET_ERR_MSG_FMT_MOD(ack, ...) ((void)(ack))
static inline int nla_parse_nested(struct nlattr **tb, int max, const struct nlattr *options, const struct nla_policy *policy,
                                   struct netlink_ext_ack *ack)
{
    (void)policy, (void)ack;
    memcpy(tb, options->data, (size_t)(max + 1) * sizeof *tb);
    return 0;
}
#define nla_parse_nested_deprecated nla_parse_nested
static inline void *nla_data(const struct nlattr *a) { return (void *)a->data; }
#define nla_len(a) 1
static inline u32 nla_get_u32(const struct nlattr *a) { return a->number; }
static inline s32 nla_get_s32(const struct nlattr *a) { return (s32)a->number; }
static inline u8 nla_get_u8(const struct nlattr *a) { return (u8)a->number; }
static inline u64 nla_get_u64(const struct nlattr *a) { return *(const u64 *)a->data; }
static inline struct nla_bitfield32 nla_get_bitfield32(const struct nlattr *a) { return (struct nla_bitfield32){a->number, ~0u}; }
/* Reports are not asked for. */
#define nla_put_u8(...) 0
#define nla_put_u16(...) 0
#define nla_put_u32(...) 0
#define nla_put_s32(...) 0
#define nla_put_u64_64bit(...) 0
#define nla_put_bitfield32(...) 0
#define nla_put_flag(...) 0
#define nla_put(...) 0
#define nla_nest_start(skb, type) ((struct nlattr *)(skb))
#define nla_nest_start_noflag(skb, type) ((struct nlattr *)(skb))
#define nla_nest_end(skb, nest) 0
#define nla_nest_cancel(skb, nest) ((void)(nest))
struct gnet_dump { struct sk_buff *skb; };
static inline int gnet_stats_copy_app(struct gnet_dump *d, void *st, int length) { (void)d, (void)st, (void)length; return 0; }
#define gnet_stats_copy_queue(...) 0

/* Queue disciplines. */
enum { NET_XMIT_SUCCESS = 0, NET_XMIT_DROP = 1, NET_XMIT_CN = 2, __NET_XMIT_STOLEN = 0x10000, __NET_XMIT_BYPASS = 0x20000 };
enum { TCQ_F_CAN_BYPASS = 4, TCQ_F_OFFLOADED = 0x200, TCQ_F_NOLOCK = 0x100, TC_SETUP_QDISC_RED = 1, GFP_KERNEL = 0,
       TC_ACT_SHOT = 2, TC_ACT_STOLEN = 4, TC_ACT_QUEUED = 5, TC_ACT_TRAP = 8, FLOW_BLOCK_BINDER_TYPE_RED_EARLY_DROP = 1,
       FLOW_BLOCK_BINDER_TYPE_RED_MARK = 2 };
#define CAP_NET_ADMIN 12
struct tc_red_qopt_offload_params { u32 min, max, probability, limit; bool is_ecn, is_harddrop, is_nodrop; void *qstats; };
enum { TC_RED_REPLACE, TC_RED_DESTROY, TC_RED_STATS, TC_RED_XSTATS, TC_RED_GRAFT };
struct tc_red_qopt_offload {
    int command;
    u32 handle, parent;
    union {
        struct tc_red_qopt_offload_params set;
        struct { void *bstats, *qstats; } stats;
        void *xstats;
        u32 child_handle;
    };
};
struct net_device;
struct net_device_ops {
    int (*ndo_setup_tc)(struct net_device *, int, void *);
};
struct net_device {
    unsigned int mtu, hard_header_len, tx_queue_len;
    const struct net_device_ops *netdev_ops;
};
extern struct net_device kernel_device;
struct gnet_stats_queue { u32 qlen, backlog, drops, requeues, overlimits; };
struct gnet_basic_like { u64 bytes, packets; };
struct qdisc_skb_head { struct sk_buff *head, *tail; u32 qlen; };
struct Qdisc_ops;
struct Qdisc {
    int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
    struct sk_buff *(*dequeue)(struct Qdisc *sch);
    unsigned int flags;
    u32 limit, handle, parent;
    const struct Qdisc_ops *ops;
    struct qdisc_skb_head q, gso_skb;
    struct gnet_stats_queue qstats;
    struct gnet_basic_like bstats;
    void *dev_queue;
    u64 privdata[] __attribute__((aligned(64)));
};
struct tcf_result { u32 classid; unsigned long class; };
struct tcf_proto;
struct tcf_block;
struct tcf_exts;
struct tcf_qevent { int unused; };
struct tcmsg { u32 tcm_handle, tcm_info; };
struct qdisc_walker { int stop, skip, count; int (*fn)(struct Qdisc *, unsigned long, struct qdisc_walker *); };
struct Qdisc_class_ops {
    int (*graft)(struct Qdisc *, unsigned long, struct Qdisc *, struct Qdisc **, struct netlink_ext_ack *);
    struct Qdisc *(*leaf)(struct Qdisc *, unsigned long);
    unsigned long (*find)(struct Qdisc *, u32);
    int (*change)(struct Qdisc *, u32, u32, struct nlattr **, unsigned long *, struct netlink_ext_ack *);
    int (*delete)(struct Qdisc *, unsigned long, struct netlink_ext_ack *);
    void (*walk)(struct Qdisc *, struct qdisc_walker *);
    struct tcf_block *(*tcf_block)(struct Qdisc *, unsigned long, struct netlink_ext_ack *);
    unsigned long (*bind_tcf)(struct Qdisc *, unsigned long, u32);
    void (*unbind_tcf)(struct Qdisc *, unsigned long);
    int (*dump)(struct Qdisc *, unsigned long, struct sk_buff *, struct tcmsg *);
    int (*dump_stats)(struct Qdisc *, unsigned long, struct gnet_dump *);
};
struct Qdisc_ops {
    const struct Qdisc_class_ops *cl_ops;
    const char *id;
    size_t priv_size;
    int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
    struct sk_buff *(*dequeue)(struct Qdisc *);
    struct sk_buff *(*peek)(struct Qdisc *);
    int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
    void (*reset)(struct Qdisc *);
    void (*destroy)(struct Qdisc *);
    int (*change)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
    int (*dump)(struct Qdisc *, struct sk_buff *);
    int (*dump_stats)(struct Qdisc *, struct gnet_dump *);
    void *owner;
};
extern struct Qdisc_ops pfifo_qdisc_ops, bfifo_qdisc_ops;
extern struct Qdisc noop_qdisc;

#define module_init(function) static void __attribute__((constructor)) start_##function(void) { function(); }
#define module_exit(function) void (*const kernel_end_##function)(void) = function;
int register_qdisc(struct Qdisc_ops *ops);
static inline void unregister_qdisc(struct Qdisc_ops *ops) { (void)ops; }

struct Qdisc *kernel_child(struct Qdisc_ops *ops);
#define qdisc_create_dflt(device_queue, ops, handle, ack) kernel_child(ops)
struct Qdisc *fifo_create_dflt(struct Qdisc *parent, struct Qdisc_ops *ops, unsigned int limit, struct netlink_ext_ack *ack);
void kernel_freed(struct sk_buff *skb);
static inline void kfree_skb(struct sk_buff *skb) { kernel_freed(skb); }
#define consume_skb kfree_skb
#define rtnl_kfree_skbs(head, tail) ((void)(head))
static inline void *qdisc_priv(struct Qdisc *sch) { return sch->privdata; }
static inline struct net_device *qdisc_dev(const struct Qdisc *sch) { (void)sch; return &kernel_device; }
static inline unsigned int psched_mtu(const struct net_device *dev) { return dev->mtu + dev->hard_header_len; }
static inline int qdisc_qlen(const struct Qdisc *sch) { return (int)sch->q.qlen; }
static inline void qdisc_qstats_drop(struct Qdisc *sch) { sch->qstats.drops++; }
static inline void __qdisc_qstats_drop(struct Qdisc *sch, int count) { sch->qstats.drops += (u32)count; }
static inline void qdisc_qstats_overlimit(struct Qdisc *sch) { sch->qstats.overlimits++; }
static inline void qdisc_qstats_backlog_inc(struct Qdisc *sch, const struct sk_buff *skb) { sch->qstats.backlog += qdisc_pkt_len(skb); }
static inline void qdisc_qstats_backlog_dec(struct Qdisc *sch, const struct sk_buff *skb) { sch->qstats.backlog -= qdisc_pkt_len(skb); }
static inline void qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) { sch->bstats.bytes += skb->len, sch->bstats.packets++; }
static inline void qdisc_tree_reduce_backlog(struct Qdisc *sch, int n, int length) { (void)sch, (void)n, (void)length; }
static inline void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
    skb->next = *to_free;
    *to_free = skb;
}
static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    __qdisc_drop(skb, to_free);
    qdisc_qstats_drop(sch);
    return NET_XMIT_DROP;
}
#define qdisc_drop_reason(skb, sch, to_free, reason) qdisc_drop(skb, sch, to_free)
static inline void rtnl_qdisc_drop(struct sk_buff *skb, struct Qdisc *sch)
{
    kernel_freed(skb);
    qdisc_qstats_drop(sch);
}
static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
    skb->next = NULL;
    if (sch->q.head)
        sch->q.tail->next = skb;
    else
        sch->q.head = skb;
    sch->q.tail = skb;
    sch->q.qlen++;
    qdisc_qstats_backlog_inc(sch, skb);
    return NET_XMIT_SUCCESS;
}
static inline struct sk_buff *__qdisc_dequeue_head(struct qdisc_skb_head *q)
{
    struct sk_buff *skb = q->head;
    if (skb) {
        q->head = skb->next;
        skb->next = NULL;
        q->qlen--;
    }
    return skb;
}
static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
    struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);
    if (skb) {
        qdisc_qstats_backlog_dec(sch, skb);
        qdisc_bstats_update(sch, skb);
    }
    return skb;
}
static inline struct sk_buff *qdisc_peek_dequeued(struct Qdisc *sch) { (void)sch; return NULL; }
static inline struct sk_buff *qdisc_peek_head(struct Qdisc *sch) { return sch->q.head; }
static inline int qdisc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free) { return sch->enqueue(skb, sch, to_free); }
static inline struct sk_buff *qdisc_dequeue_peeked(struct Qdisc *sch) { return sch->dequeue(sch); }
static inline struct sk_buff *qdisc_dequeue_internal(struct Qdisc *sch, bool direct) { (void)direct; return sch->dequeue(sch); }
static inline bool net_xmit_drop_count(int status) { return !(status & __NET_XMIT_STOLEN); }
/* Nothing is peeked at, so nothing waits there. */
static inline struct sk_buff *skb_peek(struct qdisc_skb_head *list) { return list->head; }
static inline void __skb_queue_head(struct qdisc_skb_head *list, struct sk_buff *skb) { list->head = skb; }
static inline void qdisc_qlen_inc(struct Qdisc *sch) { sch->q.qlen++; }
static inline void qdisc_qlen_dec(struct Qdisc *sch) { sch->q.qlen--; }
#define qdisc_dequeue_drop(sch, skb, reason) kernel_freed(skb)
static inline void qdisc_reset_queue(struct Qdisc *sch) { memset(&sch->q, 0, sizeof sch->q); }
static inline void qdisc_reset(struct Qdisc *sch) { (void)sch; }
static inline void qdisc_put(struct Qdisc *sch) { (void)sch; }
static inline void qdisc_purge_queue(struct Qdisc *sch) { (void)sch; }
static inline void qdisc_hash_add(struct Qdisc *sch, bool invisible) { (void)sch, (void)invisible; }
static inline void sch_tree_lock(struct Qdisc *sch) { (void)sch; }
static inline void sch_tree_unlock(struct Qdisc *sch) { (void)sch; }
static inline struct Qdisc *qdisc_root_sleeping(struct Qdisc *sch) { return sch; }
static inline spinlock_t *qdisc_lock(struct Qdisc *sch) { (void)sch; return NULL; }
static inline struct Qdisc *qdisc_replace(struct Qdisc *sch, struct Qdisc *new, struct Qdisc **old) { (void)sch, (void)new; return *old; }
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define rcu_dereference_bh(p) (p)
#define qdisc_offload_graft_helper(...) ((void)0)
#define qdisc_offload_dump_helper(...) 0
static inline bool tc_can_offload(const struct net_device *dev) { (void)dev; return false; }
static inline int tc_qdisc_stats_dump(struct Qdisc *sch, unsigned long cl, struct qdisc_walker *w) { (void)sch, (void)cl, (void)w; return 0; }
static inline int tcf_block_get(struct tcf_block **block, struct tcf_proto **list, struct Qdisc *sch, struct netlink_ext_ack *ack)
{
    (void)sch, (void)ack;
    *block = NULL;
    *list = NULL;
    return 0;
}
static inline void tcf_block_put(struct tcf_block *block) { (void)block; }
static inline int tcf_classify_qdisc(struct sk_buff *skb, const struct tcf_proto *list, struct tcf_result *result, bool compat)
{
    (void)skb, (void)list, (void)result, (void)compat;
    return -1;
}
static inline struct sk_buff *tcf_qevent_handle(struct tcf_qevent *event, struct Qdisc *sch, struct sk_buff *skb, struct sk_buff **to_free, int *status)
{
    (void)event, (void)sch, (void)to_free, (void)status;
    return skb;
}
#define tcf_qevent_destroy(...) ((void)0)
#define tcf_qevent_init(...) 0
#define tcf_qevent_validate_change(...) 0
#define tcf_qevent_dump(...) 0

struct qdisc_watchdog { int unused; };
static inline void qdisc_watchdog_init(struct qdisc_watchdog *dog, struct Qdisc *sch) { (void)dog, (void)sch; }
static inline void qdisc_watchdog_cancel(struct qdisc_watchdog *dog) { (void)dog; }
static inline void qdisc_watchdog_schedule_ns(struct qdisc_watchdog *dog, u64 ns) { (void)dog, (void)ns; }

#define kvcalloc(count, size, flags) calloc(count, size)
#define kvmalloc_array(count, size, flags) calloc(count, size)
#define kzalloc(size, flags) calloc(1, size)
#define kvfree free
#define kfree free

#endif
