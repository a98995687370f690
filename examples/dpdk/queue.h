/* The queue before a port: a discipline of fairdrop, or DPDK's RED over a ring. */
#ifndef QUEUE_H
#define QUEUE_H

#include <rte_mbuf.h>
#include <rte_red.h>

#include "fairdrop.h"
#include "headers.h"
#include "options.h"

enum { BURST = 32 };

enum red_cause { RED_OVERFLOW, RED_FORCED, RED_EARLY, RED_CAUSES };

struct queue {
    enum kind kind;
    bool flows;
    uint32_t waiting;

    fairdrop_queue *fair;
    uint64_t key[2];
    struct headers arriving;

    struct rte_red_config red_config;
    struct rte_red red;
    struct rte_mbuf **ring;
    uint32_t limit, mask, head, tail;
    fairdrop_count red_dropped[RED_CAUSES];

    /* Dropped, to be freed together. */
    struct rte_mbuf *dropped[2 * BURST];
    unsigned dropped_count;
};

/* Number `number` of those with the same seed. */
void queue_init(struct queue *queue, const struct options *options, unsigned number);

/* Takes a packet: it waits, or is among the dropped. */
void queue_enqueue(struct queue *queue, struct rte_mbuf *mbuf, uint64_t now_ns);

/* The packet to send next, or NULL; it may have a mark. */
struct rte_mbuf *queue_dequeue(struct queue *queue, uint64_t now_ns);

/* Frees the dropped. */
void queue_free_dropped(struct queue *queue);

/* Frees what waits, which ends the queue. */
void queue_end(struct queue *queue);

/* Packets dropped for cause number `cause`, and the cause's name; NULL when there are fewer causes. */
const char *queue_dropped(const struct queue *queue, unsigned cause, fairdrop_count *count);

/* Packets marked for it. */
const char *queue_marked(const struct queue *queue, unsigned cause, fairdrop_count *count);

/* What waits; of DPDK's RED the bytes are counted here. */
fairdrop_count queue_backlog(const struct queue *queue);

/* The timer of the discipline; UINT64_MAX when it has none. */
static inline uint64_t queue_deadline(const struct queue *queue) {
    uint64_t deadline;
    if (queue->kind != KIND_FAIRDROP || fairdrop_deadline(queue->fair, &deadline) != FAIRDROP_STATUS_OK) return UINT64_MAX;
    return deadline;
}

#endif
