// DRR, deficit round robin, over 2^QUEUE_BITS queues that share a memory: the rival with state for each flow, so that its cost can
// be compared. Source: M. Shreedhar, G. Varghese, IEEE/ACM Transactions on Networking 4(3), 1996, section III. An arrival is
// dropped where its queue has as many packets as 2^threshold_shift times the free entries: A. Choudhury, E. Hahne, "Dynamic queue
// length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998. Without such a rule a
// flood would take the memory. (The library's `drr` drops from the longest queue, which costs hardware more than this.)
//
// A queue is the lowest bits of a flow's id. One command at a time, as with fairdrop_choke.
module fairdrop_drr #(
    parameter ADDRESS_BITS = 10,
    parameter QUEUE_BITS = 10
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [15:0] limit,
    input  logic [1:0]  threshold_shift,
    // Bytes that a turn adds; a packet has at most so many.
    input  logic [15:0] quantum,
    // As those of fairdrop_choke.
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
    input  logic        s_axis_request_tvalid,
    output logic        s_axis_request_tready,
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready,
    output logic [31:0] m_axis_departure_tdata,
    output logic        m_axis_departure_tvalid,
    input  logic        m_axis_departure_tready,
    output logic [15:0] waiting_packets
);
    localparam A = ADDRESS_BITS, Q = QUEUE_BITS, STATE_BITS = 2 * A + A + 1;

    typedef enum logic [3:0] {
        CLEAR, IDLE, READ, DECIDE, APPEND, ANSWER, TURN, TURN_READ, TURN_LENGTH, GRANT, SERVE, SENT
    } state_t;
    state_t state;

    // The round: queues with packets, the first in turn.
    logic [Q-1:0] first_queue, last_queue, queue, clear_queue;
    logic [Q:0] active;
    logic granted;
    // Free entries: those given back, and those never used.
    logic [A-1:0] free_head;
    logic [A:0] free_count, used;
    logic [A:0] waiting;
    logic [15:0] length;
    logic [16:0] credit;
    logic [A:0] room;
    logic [A+3:0] threshold;
    logic [A-1:0] slot;

    logic state_write, deficit_write, link_write, next_write, length_write;
    logic [STATE_BITS-1:0] state_in, state_out;
    logic [15:0] deficit_in, deficit_out, length_in, length_out;
    logic [Q-1:0] state_address, link_address, link_in, link_out;
    logic [A-1:0] next_address, next_in, next_out, slot_read;

    fairdrop_ram #(.WIDTH(STATE_BITS), .ADDRESS_BITS(Q)) state_memory (
        .clk(clk), .write(state_write), .write_address(state_address), .write_data(state_in),
        .read_address(queue), .read_data(state_out));
    fairdrop_ram #(.WIDTH(16), .ADDRESS_BITS(Q)) deficit_memory (
        .clk(clk), .write(deficit_write), .write_address(state_address), .write_data(deficit_in),
        .read_address(queue), .read_data(deficit_out));
    fairdrop_ram #(.WIDTH(Q), .ADDRESS_BITS(Q)) link_memory (
        .clk(clk), .write(link_write), .write_address(link_address), .write_data(link_in),
        .read_address(queue), .read_data(link_out));
    fairdrop_ram #(.WIDTH(A), .ADDRESS_BITS(A)) next_memory (
        .clk(clk), .write(next_write), .write_address(next_address), .write_data(next_in),
        .read_address(slot_read), .read_data(next_out));
    fairdrop_ram #(.WIDTH(16), .ADDRESS_BITS(A)) length_memory (
        .clk(clk), .write(length_write), .write_address(slot), .write_data(length_in),
        .read_address(slot_read), .read_data(length_out));

    logic [A-1:0] head, tail;
    logic [A:0] count;
    assign {head, tail, count} = state_out;
    assign room = limit[A:0] - waiting;
    assign threshold = {3'b0, room} << threshold_shift;
    // The next free entry is that given back last, which links to the one before, or one that was never used.
    assign slot_read = state == TURN_LENGTH || state == GRANT || state == SERVE ? head : free_head;

    assign s_axis_arrival_tready = state == IDLE && !s_axis_request_tvalid;
    assign s_axis_request_tready = state == IDLE;
    assign waiting_packets = {{(15-A){1'b0}}, waiting};

    always_ff @(posedge clk) begin
        state_write <= 1'b0;
        deficit_write <= 1'b0;
        link_write <= 1'b0;
        next_write <= 1'b0;
        length_write <= 1'b0;
        case (state)
            CLEAR: begin
                state_write <= 1'b1;
                state_address <= clear_queue;
                state_in <= '0;
                clear_queue <= clear_queue + 1'b1;
                if (clear_queue == '1) state <= IDLE;
            end
            IDLE:
                if (s_axis_request_tvalid) begin
                    queue <= first_queue;
                    if (active == '0) begin
                        m_axis_departure_tdata <= {15'b0, 1'b1, 16'b0};
                        m_axis_departure_tvalid <= 1'b1;
                        state <= SENT;
                    end else state <= TURN;
                end else if (s_axis_arrival_tvalid) begin
                    queue <= s_axis_arrival_tdata[Q-1:0];
                    length <= s_axis_arrival_tdata[39:24];
                    state <= READ;
                end
            READ: state <= DECIDE;
            DECIDE: begin
                slot <= free_count != '0 ? free_head : used[A-1:0];
                if (room == '0 || {3'b0, count} >= threshold) begin
                    m_axis_decision_tdata <= {27'b0, 3'd0, 2'd2};
                    m_axis_decision_tvalid <= 1'b1;
                    state <= ANSWER;
                end else state <= APPEND;
            end
            APPEND: begin
                if (free_count != '0) begin
                    free_count <= free_count - 1'b1;
                    free_head <= next_out;
                end else used <= used + 1'b1;
                length_write <= 1'b1;
                length_in <= length;
                state_write <= 1'b1;
                state_address <= queue;
                state_in <= {count == '0 ? slot : head, slot, count + 1'b1};
                next_write <= count != '0;
                next_address <= tail;
                next_in <= slot;
                if (count == '0) begin
                    deficit_write <= 1'b1;
                    deficit_in <= 16'd0;
                    link_write <= active != '0;
                    link_address <= last_queue;
                    link_in <= queue;
                    last_queue <= queue;
                    if (active == '0) begin
                        first_queue <= queue;
                        granted <= 1'b0;
                    end
                    active <= active + 1'b1;
                end
                waiting <= waiting + 1'b1;
                m_axis_decision_tdata <= {{(16-A){1'b0}}, slot, 16'b0};
                m_axis_decision_tvalid <= 1'b1;
                state <= ANSWER;
            end
            ANSWER:
                if (m_axis_decision_tready) begin
                    m_axis_decision_tvalid <= 1'b0;
                    state <= IDLE;
                end
            // The queue in turn: its state, then the length of its head.
            TURN: state <= TURN_READ;
            TURN_READ: state <= TURN_LENGTH;
            TURN_LENGTH: state <= GRANT;
            GRANT: begin
                credit <= {1'b0, deficit_out} + (granted ? 17'd0 : {1'b0, quantum});
                granted <= 1'b1;
                state <= SERVE;
            end
            SERVE:
                if (credit >= {1'b0, length_out}) begin
                    m_axis_departure_tdata <= {{(32-A){1'b0}}, head};
                    m_axis_departure_tvalid <= 1'b1;
                    waiting <= waiting - 1'b1;
                    deficit_write <= 1'b1;
                    deficit_in <= credit[15:0] - length_out;
                    state_write <= 1'b1;
                    state_address <= queue;
                    state_in <= {next_out, tail, count - 1'b1};
                    next_write <= 1'b1;
                    next_address <= head;
                    next_in <= free_head;
                    free_head <= head;
                    free_count <= free_count + 1'b1;
                    if (count == 1) begin
                        active <= active - 1'b1;
                        first_queue <= link_out;
                        granted <= 1'b0;
                    end
                    state <= SENT;
                end else begin
                    // The turn goes to the next queue of the round.
                    deficit_write <= 1'b1;
                    deficit_in <= credit[15:0];
                    state_address <= queue;
                    granted <= 1'b0;
                    if (active != 1) begin
                        link_write <= 1'b1;
                        link_address <= last_queue;
                        link_in <= queue;
                        last_queue <= queue;
                        first_queue <= link_out;
                        queue <= link_out;
                    end
                    state <= TURN;
                end
            default:
                if (m_axis_departure_tready) begin
                    m_axis_departure_tvalid <= 1'b0;
                    state <= IDLE;
                end
        endcase
        if (rst) begin
            state <= CLEAR;
            clear_queue <= '0;
            active <= '0;
            granted <= 1'b0;
            free_count <= '0;
            free_head <= '0;
            used <= '0;
            waiting <= '0;
            m_axis_decision_tvalid <= 1'b0;
            m_axis_departure_tvalid <= 1'b0;
        end
    end
endmodule
