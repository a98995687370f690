// Properties of the list of a lone FIFO of whole packets, up to 8 entries, proved for any number of steps by induction. Included by
// fairdrop_choke where FAIRDROP_FORMAL is defined; not synthesized.
//
// An entry is given out once until it is freed, none is lost, the links lead from the head through exactly the occupied entries, a
// candidate is in the list, not marked and taken once, what departs is not marked, and the counters are those of the entries.

localparam MOST = 8;

// Contents of the memories, and what a read gives: the word before the write of the same clock.
logic [MOST-1:0] m_mark;
logic [A-1:0] m_next [0:MOST-1];
logic m_mark_read;
logic [A-1:0] m_next_read;
always_ff @(posedge clk) begin
    if (mark_write) m_mark[mark_address[2:0]] <= mark_value;
    if (next_write) m_next[next_address[2:0]] <= next_value;
    m_mark_read <= m_mark[mark_read_address[2:0]];
    m_next_read <= m_next[read_address[2:0]];
end

// Parameters and reset.
logic f_begun = 1'b0;
(* anyconst *) logic [31:0] f_constant;
always_ff @(posedge clk) f_begun <= 1'b1;
always_comb begin
    assume (rst == !f_begun);
    assume ({list_limit[3:0], addresses, marked_rule, unoccupied_misses, mark_in_packet, physical_length, mark_one_cell} == f_constant[11:0]);
    assume (limit == f_constant[27:12] && fifos == 4'd1);
    assume (list_limit >= 1 && list_limit <= MOST && addresses != 2'd3 && marked_rule != 2'd3);
    // The library refuses this pair.
    assume (!(addresses == FROM_HEAD && mark_in_packet));
    assume (mark == m_mark_read && next == m_next_read);
    // floor(a b / 2^64) < a.
    if (state == MULTIPLY2) assume (product[79:64] < set_size);
end

// What the memories hold once the writes under way are done.
logic [MOST-1:0] l_mark, l_used;
logic [A-1:0] l_next [0:MOST-1];
logic [3:0] l_marks;
logic [A:0] l_offset [0:MOST-1];
always_comb begin
    l_marks = 4'd0;
    for (int at = 0; at < MOST; at++) begin
        l_mark[at] = mark_write && mark_address == at ? mark_value : m_mark[at];
        l_next[at] = next_write && next_address == at ? next_value : m_next[at];
        l_offset[at] = at >= head[0] ? at - head[0] : at + list_size - head[0];
        l_used[at] = at < list_size && l_offset[at] < occupied;
        l_marks = l_marks + (l_used[at] && l_mark[at]);
    end
end

logic in_draws, in_number, in_head, freeing, at_work;
assign in_number = state == TRY || state == MULTIPLY1 || state == MULTIPLY2 || state == REDUCE || state == REFUSE || state == PLACE;
assign in_draws = in_number || state == DRAW || state == SET || state == READ || state == LOOK || state == FOUND;
assign freeing = state == FREE_READ || state == FREE;
assign in_head = freeing || state == HEAD_READ || state == HEAD_LOOK;
assign at_work = state != CLEAR;

always_comb if (f_begun && !rst) begin
    // States of other shapes do not occur.
    assert (state != SELECT && state != SELECT_WORD && state != READ_MARK && state != FIND && state != FIND_WORD
            && state != FIND_NEXT && state != FIND_NEXT2 && state != SETTLE && state != FREE_MAP && state != FREE_MAP2);
    assert (state <= SENT && bank == 0 && turn == 0 && (f == 0 || !at_work || state == IDLE));
    if (!at_work) assert (occupied == 0 && waiting == 0 && live[0] == 0);

    // The list is a run of entries around the memory.
    assert (entries[0] == occupied && occupied_in[0] == occupied && all_in[0] == occupied && occupied <= list_size);
    assert ({1'b0, cursor} < list_size);
    if (occupied != 0) begin
        assert ({1'b0, head[0]} < list_size);
        assert (cursor == (head[0] + occupied >= list_size ? head[0] + occupied - list_size : head[0] + occupied));
        assert (tail[0] == (cursor == 0 ? list_size - 1 : cursor - 1'b1));
        for (int at = 0; at < MOST; at++)
            if (l_used[at] && at != tail[0]) assert (l_next[at] == (at + 1 == list_size ? 0 : at + 1));
    end

    // Counters are those of the entries.
    assert (waiting == live[0]);
    assert (l_marks == marked[0] + (freeing && by_mark));
    assert (live[0] + marked[0] + freeing == entries[0] + (state == STORE));
    assert (live_in[0] + (state == STORE) == live[0] + (freeing && !by_mark));
    assert (wasted == (mark_in_packet ? marked[0] + (state == FREE_READ && by_mark) : 16'd0));
    assert (waiting + wasted <= limit);

    // An entry that is given out is free, and one that is freed is the head, with the mark that was read.
    if (state == STORE) assert (occupied < list_size && !l_used[cursor[2:0]] && cells_left == 1 && is_first);
    if (in_head) assert (address == head[0] && occupied != 0 && !mark_write && !next_write && is_first);
    if (state == HEAD_LOOK || freeing) assert (m_mark_read == m_mark[head[0][2:0]] && m_next_read == m_next[head[0][2:0]]);
    if (freeing) assert (by_mark == m_mark[head[0][2:0]] && cells_left == 1);
    if (state == SEEK || state == HEAD) assert (is_first && !mark_write && !next_write);
    if (mark_write) assert (state == VICTIM || state == JUDGE || state == COMPARE || state == CLEAR);
    if (next_write) assert (state == COMPARE || state == CLEAR);
    if (mark_write && at_work) assert ({1'b0, mark_address} < list_size);
    if (next_write && at_work) assert ({1'b0, next_address} < list_size);
    if (state == RED || state == ROOM || state == STORE || state == COMPARE) assert (!any_live);
    if (state == RED || state == ROOM || state == ANSWER && any_live || state == JUDGE || state == VICTIM || in_draws || state == AVERAGE) assert (is_first);

    if (in_draws || state == AVERAGE || state == VICTIM || state == JUDGE || state == RED || state == ROOM)
        assert (cells_left == 1 && cells == 1);

    // Draws.
    if (in_draws || state == AVERAGE || state == VICTIM) begin
        assert (state == AVERAGE || state == VICTIM && drawn <= found || in_draws && drawn <= wanted && found <= drawn);
        if (in_draws && state != DRAW) assert (drawn < wanted);
        assert (state == AVERAGE || wanted <= MOST_CANDIDATES && found <= wanted);
        if (state == AVERAGE) assert (found == 0 && drawn == 0 && !any_live);
        if (in_draws) assert (occupied != 0 && !any_live);
        for (int at = 0; at < MOST_CANDIDATES; at++)
            if (at < found) begin
                assert ({1'b0, candidate[at]} < list_size && l_used[candidate[at][2:0]] && candidate_cells[at] == 1);
                if (at >= drawn || state != VICTIM) assert (!l_mark[candidate[at][2:0]]);
                for (int other = 0; other < at; other++) assert (candidate[other] != candidate[at]);
            end
    end
    if (in_number || state == SET || state == READ || state == LOOK)
        assert (set_size == (addresses == MEMORY ? list_size : occupied));
    if (state == REDUCE || state == REFUSE || state == PLACE) assert (nth < set_size);
    if (state == READ || state == LOOK || state == FOUND && has_candidate) assert ({1'b0, address} < list_size);
    if (state == READ || state == LOOK) assert (!has_candidate && (!to_head || address == head[0] && addresses == FROM_HEAD));
    if (in_number || state == SET) assert (!to_head && !has_candidate);
    if (state == LOOK) assert (m_mark_read == m_mark[address[2:0]]);
    if (state == FOUND && has_candidate) assert (l_used[address[2:0]] && !l_mark[address[2:0]]);

    // A marked packet is not at the head, but while its mark is new.
    if (!mark_in_packet && occupied != 0 && !(any_live && (state == VICTIM || state == JUDGE || state == ANSWER))
        && !in_head && state != HEAD)
        assert (!l_mark[head[0][2:0]]);
end

// The assumptions leave room: an entry is given out, a packet departs, one finds no room.
always_ff @(posedge clk) if (f_begun && !rst) begin
    cover (state == STORE);
    cover (state == FREE && !by_mark);
    cover (m_axis_decision_tvalid && m_axis_decision_tdata[4:0] == {OVERFLOW, 2'd2});
end
