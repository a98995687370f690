// RED over a FIFO that others own: the core counts the packets that wait, and decides on arrivals. It decides as `red` of the
// library does (docs/reference/disciplines/red.md), without byte_mode and ns2_compat, and with a weight that is a power of two.
module fairdrop_red (
    input  logic        clk,
    input  logic        rst,
    input  logic [47:0] now_ns,
    input  logic [15:0] limit,
    input  logic [31:0] min_th,
    input  logic [31:0] max_th,
    input  logic [47:0] spacing,
    input  logic signed [48:0] gentle_base,
    input  logic [47:0] gentle_spacing,
    input  logic [3:0]  weight_shift,
    input  logic [31:0] packet_time_ns,
    input  logic        gentle,
    input  logic        wait_spacing,
    input  logic        independent,
    input  logic        ecn,
    // As those of fairdrop_choke.
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
    input  logic        s_axis_request_tvalid,
    output logic        s_axis_request_tready,
    input  logic [63:0] s_axis_early_tdata,
    input  logic        s_axis_early_tvalid,
    output logic        s_axis_early_tready,
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready,
    // Whether none waits [16].
    output logic [31:0] m_axis_departure_tdata,
    output logic        m_axis_departure_tvalid,
    input  logic        m_axis_departure_tready,
    output logic [15:0] events,
    output logic [15:0] waiting_packets,
    output logic [47:0] average
);
    localparam [2:0] OVERFLOW = 0, RED_EARLY = 1, RED_FORCED = 2;
    localparam E_ARRIVED = 0, E_DEPARTED = 1, E_OVERFLOW = 2, E_EARLY = 3, E_FORCED = 4, E_MARK_EARLY = 7, E_MARK_FORCED = 8;

    typedef enum logic [2:0] {IDLE, AVERAGE, RED, ANSWER, SENT} state_t;
    state_t state;

    logic [15:0] waiting;
    logic ecn_capable, update, decide, overflowed, idle, settled, update_done, below, decide_done, early, forced, drops, marks;
    logic [15:0] factor_a;
    logic [63:0] factor_b;
    logic [79:0] product;

    fairdrop_average #(.FIFOS(1), .FIFO_BITS(1)) red (
        .clk(clk), .rst(rst), .now_ns(now_ns), .min_th(min_th), .max_th(max_th), .spacing(spacing),
        .gentle_base(gentle_base), .gentle_spacing(gentle_spacing), .weight_shift(weight_shift),
        .packet_time_ns(packet_time_ns), .gentle(gentle), .wait_spacing(wait_spacing), .independent(independent),
        .fifo(1'b0), .update(update), .length(waiting), .decide(decide), .matched(1'b0), .overflowed(overflowed),
        .idle(idle), .settled(settled), .update_done(update_done), .below_min_th(below), .average(average),
        .decide_done(decide_done), .early(early), .forced(forced), .random(s_axis_early_tdata[63:32]),
        .random_valid(s_axis_early_tvalid), .random_ready(s_axis_early_tready), .factor_a(factor_a), .factor_b(factor_b),
        .product(product));
    fairdrop_mul mul (.clk(clk), .a(factor_a), .b(factor_b), .product(product));

    assign drops = early || forced;
    assign marks = drops && ecn && ecn_capable;
    assign s_axis_arrival_tready = state == IDLE && settled && !s_axis_request_tvalid;
    assign s_axis_request_tready = state == IDLE;
    assign waiting_packets = waiting;

    always_ff @(posedge clk) begin
        update <= 1'b0;
        decide <= 1'b0;
        overflowed <= 1'b0;
        idle <= 1'b0;
        events <= 16'b0;
        case (state)
            IDLE:
                if (s_axis_request_tvalid) begin
                    idle <= waiting == 16'd0;
                    events[E_DEPARTED] <= waiting != 16'd0;
                    if (waiting != 16'd0) waiting <= waiting - 1'b1;
                    m_axis_departure_tdata <= {15'b0, waiting == 16'd0, 16'b0};
                    m_axis_departure_tvalid <= 1'b1;
                    state <= SENT;
                end else if (s_axis_arrival_tvalid && settled) begin
                    ecn_capable <= s_axis_arrival_tdata[41:40] != 2'b00;
                    update <= 1'b1;
                    events[E_ARRIVED] <= 1'b1;
                    state <= AVERAGE;
                end
            AVERAGE:
                if (update_done) begin
                    decide <= 1'b1;
                    state <= RED;
                end
            RED:
                if (decide_done) begin
                    m_axis_decision_tdata <= 32'b0;
                    m_axis_decision_tvalid <= 1'b1;
                    state <= ANSWER;
                    if (drops && !marks) begin
                        events[forced ? E_FORCED : E_EARLY] <= 1'b1;
                        m_axis_decision_tdata[4:0] <= {forced ? RED_FORCED : RED_EARLY, 2'd2};
                    end else if (waiting >= limit) begin
                        overflowed <= 1'b1;
                        events[E_OVERFLOW] <= 1'b1;
                        m_axis_decision_tdata[4:0] <= {OVERFLOW, 2'd2};
                    end else begin
                        waiting <= waiting + 1'b1;
                        if (marks) begin
                            events[forced ? E_MARK_FORCED : E_MARK_EARLY] <= 1'b1;
                            m_axis_decision_tdata[4:0] <= {forced ? RED_FORCED : RED_EARLY, 2'd1};
                        end
                    end
                end
            ANSWER:
                if (m_axis_decision_tready) begin
                    m_axis_decision_tvalid <= 1'b0;
                    state <= IDLE;
                end
            default:
                if (m_axis_departure_tready) begin
                    m_axis_departure_tvalid <= 1'b0;
                    state <= IDLE;
                end
        endcase
        if (rst) begin
            state <= IDLE;
            waiting <= 16'd0;
            m_axis_decision_tvalid <= 1'b0;
            m_axis_departure_tvalid <= 1'b0;
        end
    end
endmodule
