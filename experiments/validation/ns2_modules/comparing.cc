// SPDX-License-Identifier: MIT OR Apache-2.0

#include "comparing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ip.h"
#include "tcp.h"

namespace fairdrop {

ComparingQueue::ComparingQueue()
	: fifo_(new PacketQueue), empty_entries_(0), arrivals_(0), seed_(0), log_(nullptr)
{
	pq_ = fifo_;
	bind("seed_", &seed_);
}

ComparingQueue::~ComparingQueue()
{
	if (log_)
		fclose(log_);
	delete fifo_;
}

void ComparingQueue::reset()
{
	Queue::reset();
	numbers_ = Numbers(seed_ > 0 ? seed_ : 0);
}

// `reset`, when a run begins. `log FILE`: a line for each arrival, as write() has it.
int ComparingQueue::command(int argc, const char *const *argv)
{
	if (argc == 2 && strcmp(argv[1], "reset") == 0) {
		// ns-2 itself has bound limit_, at the place where it has it.
		Tcl &tcl = Tcl::instance();
		tcl.evalf("%s set limit_", name());
		if (atoi(tcl.result()) != qlim_) {
			tcl.resultf("the headers are not those of this ns-2: the limit is %d", qlim_);
			return TCL_ERROR;
		}
		reset();
		return TCL_OK;
	}
	if (argc == 3 && strcmp(argv[1], "log") == 0) {
		log_ = fopen(argv[2], "w");
		if (!log_)
			Tcl::instance().resultf("cannot write %s", argv[2]);
		return log_ ? TCL_OK : TCL_ERROR;
	}
	return Queue::command(argc, argv);
}

void ComparingQueue::enque(Packet *arriving)
{
	discarded_.clear();
	const char *outcome = decide(arriving);
	const bool queued = strcmp(outcome, "queued") == 0;
	if (log_)
		write(arriving, outcome);
	if (queued) {
		fifo_->enque(arriving);
		entries_.push_back({arriving, arrivals_});
	}
	++arrivals_;
	if (!queued)
		drop(arriving);
}

Packet *ComparingQueue::deque()
{
	Packet *head = fifo_->deque();
	if (!head) {
		idle();
		return nullptr;
	}
	entries_.pop_front();
	trim();
	return head;
}

// The addresses are those of the entries from the oldest packet to the newest one. An entry that a removal left empty is
// drawn again; before a draw all are closed up, once 8 more of them are empty than not. The second rule changes no
// probability. Both are the way in which fairdrop turns random numbers into packets (docs/decisions/leaky-fifo.md).
size_t ComparingQueue::draw()
{
	if (!numbers_.shared())
		close_up();
	else if (2 * empty_entries_ > entries_.size() + 8)
		close_up();
	for (;;) {
		const size_t place = numbers_.below(entries_.size(), CANDIDATE);
		if (entries_[place].packet)
			return place;
	}
}

// Where no more packets wait than are wanted, all of them, without a draw.
std::vector<size_t> ComparingQueue::draw_distinct(int wanted)
{
	std::vector<size_t> places;
	if (waiting() <= wanted) {
		for (size_t place = 0; place < entries_.size(); ++place)
			if (entries_[place].packet)
				places.push_back(place);
		return places;
	}
	while (int(places.size()) < wanted) {
		const size_t place = draw();
		if (std::find(places.begin(), places.end(), place) == places.end())
			places.push_back(place);
	}
	return places;
}

void ComparingQueue::discard(const std::vector<size_t> &places)
{
	for (size_t place : places) {
		Entry &entry = entries_[place];
		discarded_.push_back(entry.arrival);
		fifo_->remove(entry.packet);
		drop(entry.packet);
		entry.packet = nullptr;
		++empty_entries_;
	}
	trim();
}

// Both ends are packets.
void ComparingQueue::trim()
{
	for (; !entries_.empty() && !entries_.front().packet; --empty_entries_)
		entries_.pop_front();
	for (; !entries_.empty() && !entries_.back().packet; --empty_entries_)
		entries_.pop_back();
}

void ComparingQueue::close_up()
{
	if (empty_entries_ == 0)
		return;
	const auto is_empty = [](const Entry &entry) { return !entry.packet; };
	entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_empty), entries_.end());
	empty_entries_ = 0;
}

bool ComparingQueue::same_flow(Packet *one, Packet *other)
{
	hdr_ip *a = hdr_ip::access(one), *b = hdr_ip::access(other);
	return a->saddr() == b->saddr() && a->sport() == b->sport() && a->daddr() == b->daddr() && a->dport() == b->dport();
}

// Time in seconds, flow, segment (0 where the packet is no TCP's), outcome, and which arrivals left the queue for it.
void ComparingQueue::write(Packet *arriving, const char *outcome)
{
	const bool is_tcp = hdr_cmn::access(arriving)->ptype() == PT_TCP;
	const int segment = is_tcp ? hdr_tcp::access(arriving)->seqno() : 0;
	fprintf(log_, "%.9f %d %d %s", Scheduler::instance().clock(), hdr_ip::access(arriving)->flowid(), segment, outcome);
	for (uint64_t arrival : discarded_)
		fprintf(log_, " %llu", (unsigned long long)arrival);
	fputc('\n', log_);
}

} // namespace fairdrop

// Tcl's `load` wants it; the classes are known as soon as the file is there.
extern "C" int Fairdrop_Init(Tcl_Interp *)
{
	return TCL_OK;
}
