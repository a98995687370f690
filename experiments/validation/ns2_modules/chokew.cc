// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Queue/CHOKeW, from S. Wen, Y. Fang, H. Sun, "CHOKeW: bandwidth differentiation and TCP protection in core networks",
// MILCOM 2005: figure 1 (drawing packets), figure 2 (the drawing factor p0), table I (ranges of the length).

#include "comparing.h"

#include <cmath>

#include "ip.h"

namespace fairdrop {

class ChokeW : public ComparingQueue {
public:
	ChokeW() : p0_(0.0) {
		bind("l_th_", &l_th_);
		bind("l_minus_", &l_minus_);
		bind("l_plus_", &l_plus_);
		bind("p_plus_", &p_plus_);
		bind("p_minus_", &p_minus_);
		bind("weight0_", &weight_[0]);
		bind("weight1_", &weight_[1]);
	}

protected:
	const char *decide(Packet *arriving) override {
		const int length = waiting();
		if (length < l_minus_) {
			p0_ -= p_minus_;
			if (p0_ < 0)
				p0_ = 0;
		}
		if (length > l_plus_)
			p0_ += p_plus_;
		if (length > l_th_) {
			// The priority is that of the arrival, whatever those have that are drawn.
			const double factor = p0_ / weight_[hdr_ip::access(arriving)->prio() > 0];
			const double whole = std::floor(factor);
			int draws = int(whole);
			if (numbers_.unit(DRAWING_FRACTION) < factor - whole)
				++draws;
			for (; draws > 0; --draws) {
				const size_t place = draw();
				if (same_flow(at(place), arriving)) {
					discard({place});
					return "match_arriving";
				}
			}
		}
		return full() ? "overflow" : "queued";
	}

private:
	int l_th_, l_minus_, l_plus_;
	double p_plus_, p_minus_, weight_[2], p0_;
};

static class ChokeWClass : public TclClass {
public:
	ChokeWClass() : TclClass("Queue/CHOKeW") {}
	TclObject *create(int, const char *const *) override { return new ChokeW; }
} chokew_class;

} // namespace fairdrop
