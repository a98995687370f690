/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel's queue disciplines call: a clock that the test sets, its timers, its random numbers, a FIFO. */
#include "kernel.h"
#include "host.h"

enum { MOST_TIMERS = 8, MOST_DISCIPLINES = 16 };

u64 kernel_now_ns;
struct net_device kernel_device = { .mtu = 1500, .hard_header_len = 14, .tx_queue_len = 1000 };
struct Qdisc noop_qdisc;

static struct timer_list *timers[MOST_TIMERS];
static size_t timer_count;

void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *), unsigned int flags)
{
    (void)flags;
    timer->function = function;
    timer->pending = false;
    if (timer_count == MOST_TIMERS)
        abort();
    timers[timer_count++] = timer;
}

void mod_timer(struct timer_list *timer, unsigned long expires)
{
    timer->expires = expires;
    timer->pending = true;
}

void del_timer_sync(struct timer_list *timer)
{
    timer->pending = false;
}

static struct hrtimer *fine_timer;

void hrtimer_start(struct hrtimer *timer, ktime_t expires, int mode)
{
    (void)mode;
    if (fine_timer && fine_timer != timer)
        abort();
    fine_timer = timer;
    timer->expires = (u64)expires;
    timer->pending = true;
}

/* Runs what is due until `ns`, at its own time. */
static void run_fine_timer(u64 ns)
{
    while (fine_timer && fine_timer->pending && fine_timer->expires <= ns) {
        kernel_now_ns = max(kernel_now_ns, fine_timer->expires);
        fine_timer->pending = fine_timer->function(fine_timer) == HRTIMER_RESTART;
    }
}

/* The timer that is due first until `ns`. */
static struct timer_list *due(u64 ns)
{
    struct timer_list *first = NULL;
    for (size_t i = 0; i < timer_count; i++) {
        struct timer_list *timer = timers[i];
        if (timer->pending && timer->expires <= ns / NSEC_PER_JIFFY && (!first || timer->expires < first->expires))
            first = timer;
    }
    return first;
}

void kernel_set_time(uint64_t ns)
{
    struct timer_list *timer;
    while ((timer = due(ns))) {
        u64 at = timer->expires * NSEC_PER_JIFFY;
        if (at > kernel_now_ns)
            kernel_now_ns = at;
        timer->pending = false;
        timer->function(timer);
    }
    run_fine_timer(ns);
    kernel_now_ns = ns;
}

static uint64_t (*random_source)(void);

u64 kernel_random(void)
{
    return random_source();
}

/* D. Lemire, ACM TOMACS 29(1), 2019, algorithm 5, with 64 bits: the library's way from the same bits. */
u32 get_random_u32_below(u32 bound)
{
    unsigned __int128 wide;
    do
        wide = (unsigned __int128)kernel_random() * bound;
    while ((u64)wide < -(u64)bound % bound);
    return (u32)(wide >> 64);
}

void get_random_bytes(void *to, size_t length)
{
    for (u8 *at = to; length > 0;) {
        u64 bits = kernel_random();
        size_t part = min(length, sizeof bits);
        memcpy(at, &bits, part);
        at += part;
        length -= part;
    }
}

/* Flows are numbers. Their hashes are those of the library, so that both sides put a flow into the same queue. */
static u32 hash_of(u64 low, u64 high, u64 number)
{
    return (u32)(kernel_flow_hash(low, high, number) >> 32);
}

u32 skb_get_hash(const struct sk_buff *skb)
{
    return hash_of(0, 0, skb->flow);
}

u32 skb_get_hash_perturb(const struct sk_buff *skb, const siphash_key_t *key)
{
    return hash_of(key->key[0], key->key[1], skb->flow);
}

bool skb_flow_dissect_flow_keys(const struct sk_buff *skb, struct flow_keys *keys, unsigned int flags)
{
    (void)flags;
    memset(keys, 0, sizeof *keys);
    keys->control.addr_type = FLOW_DISSECTOR_KEY_IPV4_ADDRS;
    keys->addrs.v4addrs.src = skb->source + 1;
    keys->addrs.v4addrs.dst = skb->destination + 1;
    keys->ports.ports = 1;
    keys->flow = skb->flow;
    return true;
}

void make_flow_keys_digest(struct flow_keys_digest *digest, const struct flow_keys *keys)
{
    memset(digest, 0, sizeof *digest);
    memcpy(digest->data, &keys->flow, sizeof keys->flow);
}

/* Without ports these are the keys of a host. sch_cake takes the lowest bits as the place of a queue, the library the highest. */
u32 flow_hash_from_keys(struct flow_keys *keys)
{
    u32 hash;
    if (keys->ports.ports)
        hash = hash_of(0, 0, keys->flow);
    else if (keys->addrs.v4addrs.src)
        hash = hash_of(0, 1, keys->addrs.v4addrs.src - 1);
    else
        hash = hash_of(0, 2, keys->addrs.v4addrs.dst - 1);
    return hash << 10 | hash >> 22;
}

/* Calls of the comparison, and packets that the last one marked and did not drop as well. */
static u64 calls;
static unsigned int marks;

int INET_ECN_set_ce(struct sk_buff *skb)
{
    if (skb->ecn == INET_ECN_NOT_ECT)
        return 0;
    /* Two reasons for a mark are one mark. */
    if (skb->marked_by != calls)
        marks++;
    skb->ecn = INET_ECN_CE;
    skb->marked_by = calls;
    return 1;
}

static int pfifo_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    return sch->q.qlen < sch->limit ? qdisc_enqueue_tail(skb, sch) : qdisc_drop(skb, sch, to_free);
}

static int bfifo_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    bool fits = sch->qstats.backlog + qdisc_pkt_len(skb) <= sch->limit;
    return fits ? qdisc_enqueue_tail(skb, sch) : qdisc_drop(skb, sch, to_free);
}

struct Qdisc_ops pfifo_qdisc_ops = { .id = "pfifo", .enqueue = pfifo_enqueue, .dequeue = qdisc_dequeue_head, .peek = qdisc_peek_head };
struct Qdisc_ops bfifo_qdisc_ops = { .id = "bfifo", .enqueue = bfifo_enqueue, .dequeue = qdisc_dequeue_head, .peek = qdisc_peek_head };

static struct Qdisc *new_qdisc(const struct Qdisc_ops *ops)
{
    struct Qdisc *sch = aligned_alloc(64, (sizeof *sch + ops->priv_size + 63) / 64 * 64);
    if (!sch)
        abort();
    memset(sch, 0, sizeof *sch + ops->priv_size);
    sch->ops = ops;
    sch->enqueue = ops->enqueue;
    sch->dequeue = ops->dequeue;
    return sch;
}

struct Qdisc *fifo_create_dflt(struct Qdisc *parent, struct Qdisc_ops *ops, unsigned int limit, struct netlink_ext_ack *ack)
{
    (void)parent, (void)ack;
    struct Qdisc *sch = new_qdisc(ops);
    sch->limit = limit;
    return sch;
}

struct Qdisc *kernel_child(struct Qdisc_ops *ops)
{
    return new_qdisc(ops);
}

static struct Qdisc_ops *registered[MOST_DISCIPLINES];
static size_t registered_count;

int register_qdisc(struct Qdisc_ops *ops)
{
    if (registered_count == MOST_DISCIPLINES)
        abort();
    registered[registered_count++] = ops;
    return 0;
}

static void (*freed)(uint64_t id);

void kernel_freed(struct sk_buff *skb)
{
    if (skb->marked_by == calls)
        marks--;
    freed(skb->id);
    free(skb);
}

struct Qdisc *kernel_new(const char *name, const struct nlattr *options, uint64_t (*random)(void), void (*drop)(uint64_t id))
{
    random_source = random;
    freed = drop;
    for (size_t i = 0; i < registered_count; i++) {
        if (strcmp(registered[i]->id, name) != 0)
            continue;
        struct Qdisc *sch = new_qdisc(registered[i]);
        return sch->ops->init(sch, (struct nlattr *)options, NULL) == 0 ? sch : NULL;
    }
    return NULL;
}

unsigned int kernel_enqueue(struct Qdisc *sch, const struct arrival *arrival)
{
    struct sk_buff *skb = calloc(1, sizeof *skb), *to_free = NULL;
    if (!skb)
        abort();
    skb->len = arrival->len;
    /* One: limits of memory are then limits of packets. */
    skb->truesize = 1;
    skb->ecn = arrival->ecn;
    skb->id = arrival->id;
    skb->flow = arrival->flow;
    skb->source = arrival->source;
    skb->destination = arrival->destination;
    qdisc_skb_cb(skb)->pkt_len = arrival->len;
    marks = 0;
    calls++;
    sch->enqueue(skb, sch, &to_free);
    while (to_free) {
        struct sk_buff *next = to_free->next;
        kernel_freed(to_free);
        to_free = next;
    }
    return marks;
}

bool kernel_dequeue(struct Qdisc *sch, struct arrival *departure, unsigned int *marked)
{
    marks = 0;
    calls++;
    struct sk_buff *skb = sch->dequeue(sch);
    *marked = marks;
    if (!skb)
        return false;
    *departure = (struct arrival){ .id = skb->id, .flow = skb->flow, .len = skb->len, .ecn = skb->ecn };
    free(skb);
    return true;
}
