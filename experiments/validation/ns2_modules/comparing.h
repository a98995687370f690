// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What CHOKe, CHOKeW and WARD share: a FIFO from which an arriving packet draws others and compares flows with them.

#ifndef FAIRDROP_NS2_COMPARING_H
#define FAIRDROP_NS2_COMPARING_H

#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

#include "numbers.h"
#include "queue.h"

namespace fairdrop {

class ComparingQueue : public Queue {
public:
	ComparingQueue();
	~ComparingQueue();

	void enque(Packet *) override;
	Packet *deque() override;

protected:
	// A waiting packet, and how many came before it; a null packet is an entry that a removal has left empty.
	struct Entry {
		Packet *packet;
		uint64_t arrival;
	};

	// What becomes of an arrival: one of the words that fairdrop's traces have, or "queued".
	virtual const char *decide(Packet *arriving) = 0;
	// Nothing waits when the link asks for a packet.
	virtual void idle() {}
	int command(int argc, const char *const *argv) override;
	void reset();

	int waiting() const { return fifo_->length(); }
	bool full() const { return waiting() >= qlim_; }
	// The place of one waiting packet, uniform. Valid until the next draw.
	size_t draw();
	// As many different ones as there are, up to `wanted`.
	std::vector<size_t> draw_distinct(int wanted);
	Packet *at(size_t place) const { return entries_[place].packet; }
	// Takes packets out of the queue and drops them; the others keep their order.
	void discard(const std::vector<size_t> &places);
	static bool same_flow(Packet *, Packet *);

	Numbers numbers_;

private:
	void close_up();
	void trim();
	void write(Packet *arriving, const char *outcome);

	PacketQueue *fifo_;
	std::deque<Entry> entries_;
	size_t empty_entries_;
	std::vector<uint64_t> discarded_;
	uint64_t arrivals_;
	int seed_;
	FILE *log_;
};

} // namespace fairdrop

#endif
