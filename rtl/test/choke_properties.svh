// Properties of the lists, checked at every clock against a second account of who owns which entry. Included by fairdrop_choke
// where FAIRDROP_PROPERTIES is defined; not synthesized.
//
// An entry is given out once until it is freed; none is lost; from each head the links lead through exactly the entries of that
// list; what departs is not marked; the counters are those of the entries.

logic [(1<<A)-1:0] p_used, p_marked;
logic [FIFO_BITS-1:0] p_owner [0:(1<<A)-1];
logic [A-1:0] p_next [0:(1<<A)-1], p_first [0:(1<<A)-1];

always_ff @(posedge clk) begin
    if (rst) begin
        p_used <= '0;
        p_marked <= '0;
    end else begin
        if (state == STORE) begin
            assert (!p_used[cursor]) else $error("entry %0d is given out twice", cursor);
            assert ({1'b0, cursor} < list_size) else $error("entry %0d is not in the list memory", cursor);
            p_used[cursor] <= 1'b1;
            p_marked[cursor] <= 1'b0;
            p_owner[cursor] <= f;
            p_first[cursor] <= is_first ? cursor : first;
            if (entries[f] != '0) p_next[tail[f]] <= cursor;
        end
        if (state == FREE) begin
            assert (p_used[address]) else $error("entry %0d is freed twice", address);
            assert (p_owner[address] == f) else $error("entry %0d is not of FIFO %0d", address, f);
            assert (address == head[f]) else $error("entry %0d is not the head", address);
            assert (p_marked[p_first[address]] == by_mark) else $error("entry %0d: mark bit", address);
            p_used[address] <= 1'b0;
        end
        if (state == FOUND && has_candidate) begin
            assert (p_used[address] && p_owner[address] == f) else $error("candidate %0d is not of FIFO %0d", address, f);
            assert (!p_marked[p_first[address]]) else $error("candidate %0d is marked", address);
        end
        if (state == VICTIM && drawn != found && candidate_hit[drawn] && (!m_axis_compared_tvalid || m_axis_compared_tready)) begin
            assert (!p_marked[candidate[drawn]]) else $error("entry %0d is marked twice", candidate[drawn]);
            p_marked[candidate[drawn]] <= 1'b1;
        end
        if (state == HEAD_LOOK)
            assert (mark == p_marked[address]) else $error("mark bit of the head %0d", address);
    end
end

`ifndef FORMAL
integer p_walked, p_live, p_total;
logic [A-1:0] p_at;
always_ff @(posedge clk)
    if (!rst && state == IDLE && (s_axis_arrival_tvalid || s_axis_request_tvalid)) begin
        p_total = 0;
        p_live = 0;
        for (int list = 0; list < FIFOS; list++) begin
            p_at = head[list];
            for (p_walked = 0; p_walked < entries[list]; p_walked++) begin
                assert (p_used[p_at] && p_owner[p_at] == list) else $error("list %0d breaks at entry %0d", list, p_at);
                if (p_first[p_at] == p_at && !p_marked[p_at]) p_live++;
                p_at = p_next[p_at];
            end
            p_total += entries[list];
        end
        assert (p_total == $countones(p_used)) else $error("%0d entries in lists, %0d given out", p_total, $countones(p_used));
        assert (occupied == p_total) else $error("%0d entries occupied, %0d in lists", occupied, p_total);
        assert (waiting == p_live) else $error("%0d packets wait, %0d are not marked", waiting, p_live);
    end
`endif
