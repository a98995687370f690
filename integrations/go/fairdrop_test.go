package fairdrop

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Two packets arrive for each that leaves; every second one belongs to flow 0.
func overload(t *testing.T, queue *Queue) (greedy, departed uint64) {
	t.Helper()
	cookie := uint64(0)
	for now := time.Duration(0); now < time.Second; now += 80 * time.Microsecond {
		for _, flow := range []uint64{0, 1 + uint64(now/(80*time.Microsecond))%9} {
			if err := queue.Enqueue(Packet{Flow: flow, Len: 1000, Cookie: cookie}, now); err != nil {
				t.Fatal(err)
			}
			cookie++
		}
		packet, ok, err := queue.Dequeue(now)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			departed++
			if packet.Flow == 0 {
				greedy++
			}
		}
	}
	return greedy, departed
}

func TestEveryPacketComesBackOnce(t *testing.T) {
	for _, name := range Disciplines() {
		seen := map[uint64]int{}
		queue, err := New(name, Config{
			LinkBPS: 100_000_000, Params: map[string]string{"limit": "100p"}, Seed: 1,
			Dropped: func(packet Packet, _ Cause) { seen[packet.Cookie]++ },
		})
		if err != nil {
			t.Fatal(name, err)
		}
		_, departed := overload(t, queue)
		counters, err := queue.Counters()
		if err != nil {
			t.Fatal(name, err)
		}
		backlog, err := queue.Backlog()
		if err != nil {
			t.Fatal(name, err)
		}
		if counters.Arrived.Packets != 25000 || counters.Departed.Packets != departed ||
			counters.Dropped.Packets != uint64(len(seen)) || departed+uint64(len(seen))+backlog.Packets != 25000 {
			t.Errorf("%s: %+v, %d dropped, %+v wait", name, counters, len(seen), backlog)
		}
		for cookie, times := range seen {
			if times != 1 {
				t.Errorf("%s: packet %d was dropped %d times", name, cookie, times)
			}
		}
		queue.Close()
		queue.Close()
	}
}

func TestSeedAndKeyDecide(t *testing.T) {
	run := func(seed uint64) Counters {
		queue, err := New("choke", Config{LinkBPS: 100_000_000, Seed: seed, FlowKey: &[2]uint64{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		defer queue.Close()
		overload(t, queue)
		counters, err := queue.Counters()
		if err != nil {
			t.Fatal(err)
		}
		return counters
	}
	if run(1) != run(1) {
		t.Error("the same seed gives other decisions")
	}
	if run(1) == run(2) {
		t.Error("another seed gives the same decisions")
	}
}

func TestChokeHoldsBackTheGreedySender(t *testing.T) {
	queue, err := New("choke", Config{
		LinkBPS: 100_000_000, Seed: 1, Params: map[string]string{"limit": "100p", "red.min_th": "20p", "red.max_th": "60p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	if greedy, departed := overload(t, queue); 3*greedy > departed {
		t.Errorf("%d of %d are the greedy sender's, who sent half of all", greedy, departed)
	}
}

func TestTimersAreReported(t *testing.T) {
	queue, err := New("pie", Config{LinkBPS: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	when, ok, err := queue.Deadline()
	if err != nil || !ok {
		t.Fatal(when, ok, err)
	}
	if err := queue.Tick(when); err != nil {
		t.Fatal(err)
	}
	if next, _, _ := queue.Deadline(); next <= when {
		t.Errorf("the next deadline is %v after %v", next, when)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for _, wrong := range []struct {
		discipline string
		config     Config
		parameter  string
		message    string
	}{
		{"chock", Config{LinkBPS: 1}, "", `there is no discipline "chock"`},
		{"choke", Config{}, "", "link_bps = 0 is not valid"},
		{"choke", Config{LinkBPS: 1, Params: map[string]string{"tea": "1"}}, "tea", `choke has no parameter "tea"`},
		{"choke", Config{LinkBPS: 1, Params: map[string]string{"limit": "0"}}, "limit", `limit = "0" is not valid`},
		{"choke", Config{LinkBPS: 1, Params: map[string]string{"min_th": "30", "max_th": "20"}}, "max_th", "max_th = 20 is not valid"},
	} {
		queue, err := New(wrong.discipline, wrong.config)
		var failed *Error
		if queue != nil || !errors.As(err, &failed) || !strings.Contains(failed.Message, wrong.message) {
			t.Errorf("%v: %v", wrong, err)
		} else if wrong.parameter != "" && failed.Parameter != wrong.parameter {
			t.Errorf("%v: parameter %q", wrong, failed.Parameter)
		}
	}
	queue, err := New("droptail", Config{LinkBPS: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := queue.Enqueue(Packet{ECN: 4}, 0); err == nil || !strings.Contains(err.Error(), "ECN = 4 is not valid") {
		t.Error(err)
	}
	queue.Close()
	if err := queue.Enqueue(Packet{}, 0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestACallbackMustNotCallItsQueue(t *testing.T) {
	var queue *Queue
	var found error
	config := Config{LinkBPS: 1, Params: map[string]string{"limit": "1"}}
	config.Dropped = func(_ Packet, cause Cause) {
		if cause.String() != "overflow" {
			t.Error(cause)
		}
		_, _, found = queue.Dequeue(0)
	}
	queue, err := New("droptail", config)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	for range [2]int{} {
		if err := queue.Enqueue(Packet{Len: 100}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(found, ErrReentered) {
		t.Error(found)
	}
}

func TestFlowsAreHashed(t *testing.T) {
	key := [2]uint64{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	// The first two of the SipHash paper's vectors.
	for length, expected := range []uint64{0x726fdb47dd0e0e31, 0x74f839c593dc67fd} {
		if found := Hash(key, []byte{0}[:length]); found != expected {
			t.Errorf("%d bytes: %x", length, found)
		}
	}
}

func BenchmarkEnqueueAndDequeue(b *testing.B) {
	queue, err := New("choke", Config{LinkBPS: 100_000_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer queue.Close()
	for at := 0; at < b.N; at++ {
		now := time.Duration(at) * 80 * time.Microsecond
		_ = queue.Enqueue(Packet{Flow: uint64(at % 9), Len: 1000}, now)
		_, _, _ = queue.Dequeue(now)
	}
}

// What is seen leaves next; other parameters hold from the next arrival on, and packets that wait stay.
func TestPeekAndChange(t *testing.T) {
	dropped := 0
	queue, err := New("droptail", Config{LinkBPS: 1_000_000, Params: map[string]string{"limit": "4"},
		Dropped: func(Packet, Cause) { dropped++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	for cookie := uint64(0); cookie < 4; cookie++ {
		if err := queue.Enqueue(Packet{Flow: 1, Cookie: cookie, Len: 100}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if packet, waits, err := queue.Peek(0); err != nil || !waits || packet.Cookie != 0 {
		t.Fatalf("%v %v %v", packet, waits, err)
	}
	if err := queue.Change(1_000_000, map[string]string{"limit": "2"}); err != nil {
		t.Fatal(err)
	}
	if err := queue.Enqueue(Packet{Flow: 1, Cookie: 4, Len: 100}, 0); err != nil || dropped != 1 {
		t.Fatalf("%v, %d dropped", err, dropped)
	}
	if backlog, err := queue.Backlog(); err != nil || backlog.Packets != 4 {
		t.Fatalf("%v %v", backlog, err)
	}
	if packet, _, _ := queue.Dequeue(0); packet.Cookie != 0 {
		t.Fatalf("%v left", packet)
	}
	err = queue.Change(1_000_000, map[string]string{"limit": "4000"})
	var refused *Error
	if !errors.As(err, &refused) || refused.Parameter != "limit" {
		t.Fatalf("the block has no room for 4000 packets: %v", err)
	}
}
