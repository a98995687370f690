// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Queue/WARD, from C.-Y. Ho, Y.-C. Chan, Y.-C. Chen, "WARD: a TCP-friendly stateless AQM scheme", IET Communications 1(6), 2007:
// section 3.1.

#include "comparing.h"

namespace fairdrop {

class Ward : public ComparingQueue {
protected:
	const char *decide(Packet *arriving) override {
		const bool was_full = full();
		if (!is_compared())
			return "queued";
		std::vector<size_t> same, drawn = waiting() == 1 ? std::vector<size_t>{draw()} : two();
		for (size_t place : drawn)
			if (same_flow(at(place), arriving))
				same.push_back(place);
		if (!same.empty()) {
			discard(same);
			return "match_arriving";
		}
		if (drawn.size() == 2 && same_flow(at(drawn[0]), at(drawn[1]))) {
			discard(drawn);
			return "queued";
		}
		return was_full ? "overflow" : "queued";
	}

private:
	// The weight of the position that the arrival would take is the first decimal of position / buffer, and 1 at the last
	// position; where the buffer is full it is compared in any case. U is a number of tenths, rounded up: larger than the
	// weight with probability 1 - weight.
	bool is_compared() {
		const int tenths = full() ? 10 : 10 * (waiting() + 1) / qlim_;
		if (tenths == 0 || waiting() == 0)
			return false;
		return tenths == 10 || numbers_.below(10, WARD_WEIGHT) < uint64_t(tenths);
	}

	// Two different packets; the second is drawn until it is another than the first.
	std::vector<size_t> two() {
		const size_t first = draw();
		size_t second = draw();
		while (second == first)
			second = draw();
		return {first, second};
	}
};

static class WardClass : public TclClass {
public:
	WardClass() : TclClass("Queue/WARD") {}
	TclObject *create(int, const char *const *) override { return new Ward; }
} ward_class;

} // namespace fairdrop
