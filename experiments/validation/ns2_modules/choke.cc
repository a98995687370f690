// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Queue/CHOKe, from R. Pan, B. Prabhakar, K. Psounis, "CHOKe: a stateless active queue management scheme for approximating
// fair bandwidth allocation", INFOCOM 2000: section II.A, and III.C for several candidates.

#include "comparing.h"
#include "red_test.h"

#include <algorithm>
#include <cstring>

namespace fairdrop {

class Choke : public ComparingQueue {
public:
	Choke() : red_(set_) {
		bind("thresh_", &set_.thresh);
		bind("maxthresh_", &set_.maxthresh);
		bind("max_p_", &set_.max_p);
		bind("q_weight_", &set_.weight);
		bind("packets_per_s_", &set_.packets_per_s);
		bind_bool("gentle_", &set_.gentle);
		bind_bool("wait_", &set_.wait);
		bind_bool("independent_", &set_.independent);
		bind("candidates_", &candidates_);
		bind("regions_", &regions_);
		bind_bool("replacement_", &replacement_);
		bind_bool("count_matches_", &count_matches_);
	}

protected:
	int command(int argc, const char *const *argv) override {
		const int done = ComparingQueue::command(argc, argv);
		if (argc == 2 && strcmp(argv[1], "reset") == 0)
			red_ = RedTest(set_);
		return done;
	}

	void idle() override { red_.link_idle(); }

	// The average is RED's. Below the lower threshold nothing is compared; above the upper one too, "in order to bring the
	// queue occupancy back". A match drops the arrival and each packet of its flow among those drawn.
	const char *decide(Packet *arriving) override {
		red_.arrival(waiting());
		if (red_.over_thresh() && waiting() > 0) {
			std::vector<size_t> matched;
			for (size_t place : drawn())
				if (same_flow(at(place), arriving))
					matched.push_back(place);
			if (!matched.empty()) {
				if (count_matches_)
					red_.count();
				discard(matched);
				return "match_arriving";
			}
		}
		return red_.decide(waiting(), qlim_, numbers_);
	}

private:
	// Region i of k equal ones between the thresholds has 2i - 1 candidates ("drop 2i"), the last also above.
	int candidates() const {
		if (regions_ == 0)
			return candidates_;
		const double part = (red_.average() - set_.thresh) / (set_.maxthresh - set_.thresh);
		const int region = part < 1.0 ? 1 + int(regions_ * part) : regions_;
		return 2 * region - 1;
	}

	std::vector<size_t> drawn() {
		const int wanted = candidates();
		if (wanted == 1)
			return {draw()};
		if (!replacement_)
			return draw_distinct(wanted);
		std::vector<size_t> places;
		for (int number = 0; number < wanted; ++number) {
			const size_t place = draw();
			if (std::find(places.begin(), places.end(), place) == places.end())
				places.push_back(place);
		}
		return places;
	}

	RedSettings set_;
	RedTest red_;
	int candidates_, regions_, replacement_, count_matches_;
};

static class ChokeClass : public TclClass {
public:
	ChokeClass() : TclClass("Queue/CHOKe") {}
	TclObject *create(int, const char *const *) override { return new Choke; }
} choke_class;

} // namespace fairdrop
