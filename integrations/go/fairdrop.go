// Package fairdrop is the fairdrop queue disciplines for Go: CHOKe and its relatives, COLLAR, and rivals from RED to FQ-CoDel
// and CAKE. It calls the installed C library (make install) through cgo, which finds it with pkg-config.
//
//	queue, err := fairdrop.New("choke", fairdrop.Config{
//		LinkBPS: 100_000_000,
//		Params:  map[string]string{"limit": "100p", "red.min_th": "20p", "red.max_th": "60p"},
//		Dropped: func(packet fairdrop.Packet, cause fairdrop.Cause) { release(packet.Cookie) },
//	})
//	defer queue.Close()
//	queue.Enqueue(packet, now)                   // a packet arrives
//	next, ok, err := queue.Dequeue(now)          // the transmitter is free
//
// A queue keeps its state in memory outside Go's heap, until Close. Calls of one queue must not overlap; different queues
// are independent. Callbacks run during calls of their queue, and must not call it.
package fairdrop

/*
#cgo pkg-config: fairdrop
#include <stdlib.h>
#include <fairdrop.h>

extern void fairdropGoDropped(uintptr_t queue, fairdrop_packet *packet, uint8_t cause);

static inline void fairdrop_go_dropped(void *context, const fairdrop_packet *packet, fairdrop_cause cause) {
	fairdropGoDropped(*(uintptr_t *)context, (fairdrop_packet *)packet, cause);
}

// The context leads to the number of a handle, since C must not keep pointers of Go.
static inline fairdrop_queue *fairdrop_go_init(void *memory, size_t size, const fairdrop_params *params, uintptr_t *context,
	uint64_t low, uint64_t high, uint64_t seed, uint32_t number, fairdrop_error *error) {
	uint64_t key[2] = {low, high};
	fairdrop_host host = {0};
	host.context = context;
	host.dropped = fairdrop_go_dropped;
	host.flow_key = key;
	host.seed = seed;
	host.queue = number;
	return fairdrop_init(memory, size, params, &host, error);
}
*/
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/cgo"
	"sort"
	"time"
	"unsafe"
)

// Packet is a packet, as far as a discipline knows it.
type Packet struct {
	// Flow is compared for equality only: what Hash makes of addresses and ports, for example.
	Flow uint64
	// Cookie is the caller's reference to the packet, and comes back as it was given.
	Cookie uint64
	// Enqueued is when the packet was admitted, since the caller's origin of time. Enqueue does not read it.
	Enqueued time.Duration
	// Len is the length on the wire in bytes, at most MaxLen.
	Len uint32
	// Label is the rate that an edge wrote on the packet, for CSFQ; otherwise 0.
	Label uint16
	// Class is the priority class (the DS field); otherwise 0.
	Class uint8
	// ECN is the ECN field of the IP header, 0 to 3.
	ECN uint8
}

// MaxLen is the length of the longest packet in bytes.
const MaxLen = C.FAIRDROP_MAX_LEN

// Cause says why a packet was dropped. Its String is the name in tables and documents.
type Cause uint8

func (cause Cause) String() string {
	name := C.fairdrop_cause_name(C.uint8_t(cause))
	if name == nil {
		return fmt.Sprintf("cause(%d)", uint8(cause))
	}
	return C.GoString(name)
}

// Error is what the library refused: a sentence that names the value and what is valid.
type Error struct {
	// Parameter is the one concerned; empty when it is none.
	Parameter string
	Message   string
}

func (err *Error) Error() string { return "fairdrop: " + err.Message }

// ErrClosed is returned by calls of a queue that was closed.
var ErrClosed = errors.New("fairdrop: the queue is closed; valid: calls before Close")

// ErrReentered is returned to a callback that calls its queue.
var ErrReentered = errors.New("fairdrop: a callback called its queue; valid: after the call returns")

// Config is what a queue is made of.
type Config struct {
	// LinkBPS is the rate of the link, bit/s.
	LinkBPS uint64
	// Params are set as text, as in scenarios: "300p", "5ms", "true". Others have their defaults.
	Params map[string]string
	// Dropped takes back each packet that is dropped, during calls of the queue; nil where nothing has to be freed.
	Dropped func(packet Packet, cause Cause)
	// Seed of the random numbers, and Number, which distinguishes queues with the same seed.
	Seed   uint64
	Number uint32
	// FlowKey is the secret key of the hashes that find flows; nil for one from the system's random source.
	FlowKey *[2]uint64
}

// Count is packets and their bytes on the wire.
type Count struct{ Packets, Bytes uint64 }

// Counters are those of a queue since it was made. Arrived = Departed + Dropped + what waits.
type Counters struct {
	Arrived, Departed, Dropped, Marked Count
	// Drawn counts candidates that were drawn and compared.
	Drawn uint64
}

// Queue is a queue with its memory.
type Queue struct {
	queue      *C.fairdrop_queue
	block      unsafe.Pointer
	context    *C.uintptr_t
	dropped    func(Packet, Cause)
	discipline string
}

// New makes an empty queue of a discipline, such as "choke".
func New(discipline string, config Config) (*Queue, error) {
	if version := C.fairdrop_abi_version(); version != C.FAIRDROP_ABI_VERSION {
		return nil, &Error{"", fmt.Sprintf("the library has interface %d; valid: %d, as fairdrop.h", version, C.FAIRDROP_ABI_VERSION)}
	}
	params, err := paramsOf(discipline, config)
	if err != nil {
		return nil, err
	}
	var key [2]uint64
	if config.FlowKey != nil {
		key = *config.FlowKey
	} else if err := binary.Read(rand.Reader, binary.LittleEndian, &key); err != nil {
		return nil, fmt.Errorf("fairdrop: no random key: %w", err)
	}
	var failed C.fairdrop_error
	size := C.fairdrop_size(params, &failed)
	if size == 0 {
		return nil, failure(&failed)
	}
	queue := &Queue{
		block:   C.calloc(1, size),
		context: (*C.uintptr_t)(C.calloc(1, C.sizeof_uintptr_t)),
		dropped: config.Dropped, discipline: discipline,
	}
	*queue.context = C.uintptr_t(cgo.NewHandle(queue))
	queue.queue = C.fairdrop_go_init(queue.block, size, params, queue.context,
		C.uint64_t(key[0]), C.uint64_t(key[1]), C.uint64_t(config.Seed), C.uint32_t(config.Number), &failed)
	if queue.queue == nil {
		queue.Close()
		return nil, failure(&failed)
	}
	return queue, nil
}

func paramsOf(discipline string, config Config) (*C.fairdrop_params, error) {
	var params C.fairdrop_params
	var failed C.fairdrop_error
	name := C.CString(discipline)
	defer C.free(unsafe.Pointer(name))
	if C.fairdrop_params_init(&params, name, C.uint64_t(config.LinkBPS), &failed) < 0 {
		return nil, failure(&failed)
	}
	names := make([]string, 0, len(config.Params))
	for name := range config.Params {
		names = append(names, name)
	}
	// In one order, so that the same mistake is named each time.
	sort.Strings(names)
	for _, each := range names {
		name, value := C.CString(each), C.CString(config.Params[each])
		status := C.fairdrop_params_set(&params, name, value, &failed)
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(value))
		if status < 0 {
			return nil, failure(&failed)
		}
	}
	return &params, nil
}

// Close frees the memory of the queue. What waits is not given back: take it with Dequeue before, where it matters.
func (queue *Queue) Close() {
	if queue.block == nil {
		return
	}
	cgo.Handle(*queue.context).Delete()
	C.free(unsafe.Pointer(queue.context))
	C.free(queue.block)
	queue.queue, queue.block, queue.context = nil, nil, nil
}

// Enqueue offers a packet that arrives at now. It is queued or dropped, and packets that wait may be dropped with it.
func (queue *Queue) Enqueue(packet Packet, now time.Duration) error {
	if queue.queue == nil {
		return ErrClosed
	}
	given := C.fairdrop_packet{
		flow: C.uint64_t(packet.Flow), cookie: C.uint64_t(packet.Cookie), len: C.uint32_t(packet.Len),
		label: C.uint16_t(packet.Label), traffic_class: C.uint8_t(packet.Class), ecn: C.uint8_t(packet.ECN),
	}
	status := C.fairdrop_enqueue(queue.queue, &given, C.uint64_t(now))
	if status == C.FAIRDROP_STATUS_BAD_ARGUMENT {
		return &Error{"", fmt.Sprintf("a packet with Len = %d and ECN = %d is not valid: Len up to %d, ECN from 0 to 3",
			packet.Len, packet.ECN, MaxLen)}
	}
	return problem(status)
}

// Dequeue takes the packet to transmit next; false when there is none. Call it when the transmitter is free, even when
// nothing waits: that is how a discipline learns that the link is idle.
func (queue *Queue) Dequeue(now time.Duration) (Packet, bool, error) {
	if queue.queue == nil {
		return Packet{}, false, ErrClosed
	}
	var packet C.fairdrop_packet
	status := C.fairdrop_dequeue(queue.queue, C.uint64_t(now), &packet)
	if status != C.FAIRDROP_STATUS_OK {
		return Packet{}, false, problem(status)
	}
	return packetOf(&packet), true, nil
}

// Peek is what Dequeue would give now, without taking it; false when it would give nothing.
func (queue *Queue) Peek(now time.Duration) (Packet, bool, error) {
	if queue.queue == nil {
		return Packet{}, false, ErrClosed
	}
	var packet C.fairdrop_packet
	status := C.fairdrop_peek(queue.queue, C.uint64_t(now), &packet)
	if status != C.FAIRDROP_STATUS_OK {
		return Packet{}, false, problem(status)
	}
	return packetOf(&packet), true, nil
}

// Change sets other parameters, as LinkBPS and Params of a Config, while packets wait; packets, counters and state stay. Parameters
// that are not named have their defaults. Refused, with nothing changed, by disciplines that take their parameters once.
func (queue *Queue) Change(linkBPS uint64, params map[string]string) error {
	if queue.queue == nil {
		return ErrClosed
	}
	changed, err := paramsOf(queue.discipline, Config{LinkBPS: linkBPS, Params: params})
	if err != nil {
		return err
	}
	var failed C.fairdrop_error
	if C.fairdrop_change(queue.queue, changed, &failed) != C.FAIRDROP_STATUS_OK {
		return failure(&failed)
	}
	return nil
}

// Deadline is when Tick wants to be called; false when the discipline has no timer.
func (queue *Queue) Deadline() (time.Duration, bool, error) {
	if queue.queue == nil {
		return 0, false, ErrClosed
	}
	var when C.uint64_t
	status := C.fairdrop_deadline(queue.queue, &when)
	return time.Duration(when), status == C.FAIRDROP_STATUS_OK, problem(status)
}

// Tick says that the deadline has come. If the transmitter is free, call Dequeue next.
func (queue *Queue) Tick(now time.Duration) error {
	if queue.queue == nil {
		return ErrClosed
	}
	return problem(C.fairdrop_tick(queue.queue, C.uint64_t(now)))
}

// Backlog is what waits.
func (queue *Queue) Backlog() (Count, error) {
	if queue.queue == nil {
		return Count{}, ErrClosed
	}
	var count C.fairdrop_count
	status := C.fairdrop_backlog(queue.queue, &count)
	return countOf(count), problem(status)
}

// Counters are those since the queue was made.
func (queue *Queue) Counters() (Counters, error) {
	if queue.queue == nil {
		return Counters{}, ErrClosed
	}
	var found C.fairdrop_counters
	status := C.fairdrop_stats(queue.queue, &found)
	return Counters{
		Arrived: countOf(found.arrived), Departed: countOf(found.departed), Dropped: countOf(found.dropped),
		Marked: countOf(found.marked), Drawn: uint64(found.drawn),
	}, problem(status)
}

// Disciplines are the names of all disciplines.
func Disciplines() []string {
	names := make([]string, C.fairdrop_discipline_count())
	for at := range names {
		var described C.fairdrop_discipline
		C.fairdrop_discipline_at(C.size_t(at), &described)
		names[at] = C.GoString(described.name)
	}
	return names
}

// Hash is SipHash-2-4 of bytes under a secret key: makes the flow of a packet's addresses, protocol and ports.
func Hash(key [2]uint64, bytes []byte) uint64 {
	var start *C.uint8_t
	if len(bytes) > 0 {
		start = (*C.uint8_t)(unsafe.Pointer(&bytes[0]))
	}
	return uint64(C.fairdrop_hash(C.uint64_t(key[0]), C.uint64_t(key[1]), start, C.size_t(len(bytes))))
}

//export fairdropGoDropped
func fairdropGoDropped(handle C.uintptr_t, packet *C.fairdrop_packet, cause C.uint8_t) {
	queue := cgo.Handle(handle).Value().(*Queue)
	if queue.dropped != nil {
		queue.dropped(packetOf(packet), Cause(cause))
	}
}

func packetOf(packet *C.fairdrop_packet) Packet {
	return Packet{
		Flow: uint64(packet.flow), Cookie: uint64(packet.cookie), Enqueued: time.Duration(packet.enqueued_ns),
		Len: uint32(packet.len), Label: uint16(packet.label), Class: uint8(packet.traffic_class), ECN: uint8(packet.ecn),
	}
}

func countOf(count C.fairdrop_count) Count { return Count{uint64(count.packets), uint64(count.bytes)} }

func failure(failed *C.fairdrop_error) error {
	return &Error{C.GoString(&failed.parameter[0]), C.GoString(&failed.message[0])}
}

func problem(status C.enum_fairdrop_status) error {
	switch status {
	case C.FAIRDROP_STATUS_OK, C.FAIRDROP_STATUS_NONE:
		return nil
	case C.FAIRDROP_STATUS_REENTERED:
		return ErrReentered
	default:
		return &Error{"", fmt.Sprintf("status %d", int(status))}
	}
}
