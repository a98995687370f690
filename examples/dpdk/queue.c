#include "queue.h"

#include <rte_common.h>
#include <rte_malloc.h>

static void drop(struct queue *queue, struct rte_mbuf *mbuf) {
    if (queue->dropped_count == RTE_DIM(queue->dropped)) queue_free_dropped(queue);
    queue->dropped[queue->dropped_count++] = mbuf;
}

static struct rte_mbuf *mbuf_of(const fairdrop_packet *packet) {
    return (struct rte_mbuf *)(uintptr_t)packet->cookie;
}

/* Called by the library, for the packet that arrives and for those that had waited. */
static void on_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause) {
    struct queue *queue = context;
    (void)cause;
    --queue->waiting;
    drop(queue, mbuf_of(packet));
}

static uint64_t host_at(const struct queue *queue, unsigned end) {
    const struct headers *headers = &queue->arriving;
    return fairdrop_hash(queue->key[0], queue->key[1], headers->key + 1 + end * headers->address_length,
                         headers->address_length);
}

/* Called by the library during an arrival, for disciplines that share among hosts. */
static void on_hosts(void *context, const fairdrop_packet *packet, fairdrop_hosts *hosts) {
    const struct queue *queue = context;
    if (queue->arriving.address_length == 0) {
        hosts->source = hosts->destination = packet->flow;
        return;
    }
    hosts->source = host_at(queue, 0);
    hosts->destination = host_at(queue, 1);
}

void queue_init(struct queue *queue, const struct options *options, unsigned number) {
    memset(queue, 0, sizeof *queue);
    queue->kind = options->kind;
    queue->flows = options->flows;
    if (queue->kind == KIND_RTE_RED) {
        const struct red_options *red = &options->red;
        uint32_t slots = rte_align32pow2(options->limit);
        queue->limit = options->limit;
        queue->mask = slots - 1;
        queue->ring = rte_zmalloc("ring", slots * sizeof *queue->ring, 0);
        if (queue->ring == NULL) fail("limit: there is no memory for %u packets; EAL's option -m gives more", queue->limit);
        rte_red_rt_data_init(&queue->red);
        if (rte_red_config_init(&queue->red_config, red->wq_log2, red->min_th, red->max_th, red->maxp_inv) != 0)
            fail("rte_red does not take these parameters");
        rte_red_rand_seed = (uint32_t)options->seed;
    }
    if (queue->kind == KIND_FAIRDROP) {
        fairdrop_error error;
        fairdrop_host host = {
            .context = queue,
            .dropped = on_drop,
            .hosts = on_hosts,
            .flow_key = options->key + 2,
            .seed = options->seed,
            .queue = number,
        };
        size_t size = fairdrop_size(&options->params, &error);
        void *block = rte_malloc("queue", size, RTE_CACHE_LINE_SIZE);
        if (block == NULL) fail("limit: there are no %zu bytes for a queue; EAL's option -m gives more", size);
        queue->key[0] = options->key[0];
        queue->key[1] = options->key[1];
        queue->fair = fairdrop_init(block, size, &options->params, &host, &error);
        if (queue->fair == NULL) fail("%s", error.message);
    }
}

static void red_enqueue(struct queue *queue, struct rte_mbuf *mbuf, uint64_t now_ns) {
    /* 0, or 1 for a drop above the threshold, or 2 for one at random. */
    int verdict = rte_red_enqueue(&queue->red_config, &queue->red, queue->waiting, now_ns);
    if (likely(verdict == 0 && queue->waiting < queue->limit)) {
        queue->ring[queue->tail++ & queue->mask] = mbuf;
        ++queue->waiting;
        return;
    }
    enum red_cause cause = verdict == 1 ? RED_FORCED : verdict == 2 ? RED_EARLY : RED_OVERFLOW;
    ++queue->red_dropped[cause].packets;
    queue->red_dropped[cause].bytes += rte_pktmbuf_pkt_len(mbuf);
    drop(queue, mbuf);
}

void queue_enqueue(struct queue *queue, struct rte_mbuf *mbuf, uint64_t now_ns) {
    struct headers *headers = &queue->arriving;
    if (queue->kind == KIND_RTE_RED) {
        red_enqueue(queue, mbuf, now_ns);
        return;
    }
    headers_read(mbuf, headers);
    fairdrop_packet packet = {
        .cookie = (uintptr_t)mbuf,
        .len = rte_pktmbuf_pkt_len(mbuf),
        .traffic_class = headers->traffic_class >> 2,
        .ecn = headers->traffic_class & 3,
    };
    if (queue->flows) {
        if (mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
            packet.flow = mbuf->hash.rss;
        else
            packet.flow = fairdrop_hash(queue->key[0], queue->key[1], headers->key, headers->length);
    }
    ++queue->waiting;
    if (unlikely(fairdrop_enqueue(queue->fair, &packet, now_ns) < 0)) rte_panic("fairdrop_enqueue refused a packet\n");
}

struct rte_mbuf *queue_dequeue(struct queue *queue, uint64_t now_ns) {
    fairdrop_packet packet;
    struct rte_mbuf *mbuf;
    if (queue->kind == KIND_RTE_RED) {
        if (queue->waiting == 0) return NULL;
        if (--queue->waiting == 0) rte_red_mark_queue_empty(&queue->red, now_ns);
        return queue->ring[queue->head++ & queue->mask];
    }
    if (fairdrop_dequeue(queue->fair, now_ns, &packet) != FAIRDROP_STATUS_OK) return NULL;
    --queue->waiting;
    mbuf = mbuf_of(&packet);
    if (unlikely(packet.ecn == 3)) headers_mark(mbuf);
    return mbuf;
}

void queue_free_dropped(struct queue *queue) {
    if (queue->dropped_count > 0) rte_pktmbuf_free_bulk(queue->dropped, queue->dropped_count);
    queue->dropped_count = 0;
}

static void free_one(void *context, const fairdrop_packet *packet) {
    (void)context;
    rte_pktmbuf_free(mbuf_of(packet));
}

void queue_end(struct queue *queue) {
    queue_free_dropped(queue);
    /* Seen rather than taken, since a shaper may hold packets back. */
    if (queue->kind == KIND_FAIRDROP) {
        fairdrop_for_each_waiting(queue->fair, free_one, NULL);
        rte_free(queue->fair);
    }
    while (queue->kind == KIND_RTE_RED && queue->waiting > 0) rte_pktmbuf_free(queue_dequeue(queue, 0));
    rte_free(queue->ring);
}

const char *queue_dropped(const struct queue *queue, unsigned cause, fairdrop_count *count) {
    static const char *const red_names[] = {"overflow", "red_forced", "red_early"};
    if (queue->kind == KIND_FAIRDROP) {
        if (cause >= fairdrop_cause_count() || fairdrop_dropped(queue->fair, (uint8_t)cause, count) != FAIRDROP_STATUS_OK)
            return NULL;
        return fairdrop_cause_name((uint8_t)cause);
    }
    if (queue->kind == KIND_NONE || cause >= RED_CAUSES) return NULL;
    *count = queue->red_dropped[cause];
    return red_names[cause];
}

const char *queue_marked(const struct queue *queue, unsigned cause, fairdrop_count *count) {
    if (queue->kind != KIND_FAIRDROP || cause >= fairdrop_cause_count() ||
        fairdrop_marked(queue->fair, (uint8_t)cause, count) != FAIRDROP_STATUS_OK)
        return NULL;
    return fairdrop_cause_name((uint8_t)cause);
}

fairdrop_count queue_backlog(const struct queue *queue) {
    fairdrop_count count = {0, 0};
    if (queue->kind == KIND_FAIRDROP) fairdrop_backlog(queue->fair, &count);
    for (uint32_t at = queue->head; queue->kind == KIND_RTE_RED && at != queue->tail; ++at) {
        ++count.packets;
        count.bytes += rte_pktmbuf_pkt_len(queue->ring[at & queue->mask]);
    }
    return count;
}
