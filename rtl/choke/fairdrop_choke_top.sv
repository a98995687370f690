// CHOKe with its registers (AXI4-Lite; rtl/README.md has the table) and its own random numbers, or those of two streams.
module fairdrop_choke_top #(
    parameter ADDRESS_BITS = 10,
    parameter ID_BITS = 16,
    parameter FIFOS = 1,
    parameter BANKS = 1,
    parameter MOST_CANDIDATES = 4,
    parameter CHOPPED = 0
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [47:0] now_ns,
    input  logic [9:0]  s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [3:0]  s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [9:0]  s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
    input  logic        s_axis_request_tvalid,
    output logic        s_axis_request_tready,
    input  logic [63:0] s_axis_candidate_tdata,
    input  logic        s_axis_candidate_tvalid,
    output logic        s_axis_candidate_tready,
    input  logic [63:0] s_axis_early_tdata,
    input  logic        s_axis_early_tvalid,
    output logic        s_axis_early_tready,
    output logic [31:0] m_axis_compared_tdata,
    output logic        m_axis_compared_tvalid,
    input  logic        m_axis_compared_tready,
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready,
    output logic [31:0] m_axis_departure_tdata,
    output logic        m_axis_departure_tvalid,
    input  logic        m_axis_departure_tready
);
    localparam WORDS = 18, EVENTS = 16, READINGS = EVENTS + 4;
    logic [WORDS*32-1:0] words;
    logic [READINGS*32-1:0] readings;
    logic written;
    logic [7:0] written_word;
    logic core_rst, own_random;
    logic [EVENTS-1:0] events;
    logic [3:0] events_drawn;
    logic [15:0] waiting;
    logic [16:0] occupied;
    logic [47:0] average;
    logic [31:0] counter [0:EVENTS];
    logic [31:0] control;

    assign control = words[31:0];
    assign own_random = control[10];
    // Bit 0 of the first word begins anew with the parameters that are set.
    assign core_rst = rst || (written && written_word == 8'd0 && control[0]);

    fairdrop_axil #(.WRITABLE(WORDS), .READABLE(READINGS)) registers (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .words(words), .written(written), .written_word(written_word), .readings(readings));

    logic [63:0] own_candidate, own_early, candidate_number, early_number;
    logic candidate_valid, candidate_ready, early_valid, early_ready;
    fairdrop_xorshift candidate_source (.clk(clk), .seed_write(core_rst), .seed({words[17*32 +: 32], words[16*32 +: 32]}),
                                        .next(candidate_ready), .number(own_candidate));
    fairdrop_xorshift early_source (.clk(clk), .seed_write(core_rst), .seed(~{words[17*32 +: 32], words[16*32 +: 32]}),
                                    .next(early_ready), .number(own_early));
    assign candidate_number = own_random ? own_candidate : s_axis_candidate_tdata;
    assign candidate_valid = own_random || s_axis_candidate_tvalid;
    assign s_axis_candidate_tready = !own_random && candidate_ready;
    assign early_number = own_random ? own_early : s_axis_early_tdata;
    assign early_valid = own_random || s_axis_early_tvalid;
    assign s_axis_early_tready = !own_random && early_ready;

    fairdrop_choke #(
        .ADDRESS_BITS(ADDRESS_BITS), .ID_BITS(ID_BITS), .FIFOS(FIFOS), .BANKS(BANKS), .MOST_CANDIDATES(MOST_CANDIDATES),
        .CHOPPED(CHOPPED)
    ) core (
        .clk(clk), .rst(core_rst), .now_ns(now_ns),
        .gentle(control[1]), .wait_spacing(control[2]), .independent(control[3]), .ecn(control[4]),
        .unoccupied_misses(control[5]), .mark_in_packet(control[6]), .physical_length(control[7]),
        .count_on_match(control[8]), .mark_one_cell(control[9]), .addresses(control[13:12]), .marked_rule(control[15:14]),
        .weight_shift(control[19:16]), .fifos(control[23:20]),
        .limit(words[1*32 +: 16]), .list_limit(words[1*32+16 +: 16]), .quota(words[2*32 +: 16]),
        .max_tries(words[2*32+16 +: 16]), .min_th(words[3*32 +: 32]), .max_th(words[4*32 +: 32]),
        .spacing(words[5*32 +: 48]), .gentle_base(words[7*32 +: 49]), .gentle_spacing(words[9*32 +: 48]),
        .packet_time_ns(words[11*32 +: 32]), .candidates(words[12*32 +: 16]), .region1(words[13*32 +: 32]),
        .region2(words[14*32 +: 32]), .region3(words[15*32 +: 32]),
        .s_axis_arrival_tdata(s_axis_arrival_tdata), .s_axis_arrival_tvalid(s_axis_arrival_tvalid),
        .s_axis_arrival_tready(s_axis_arrival_tready), .s_axis_request_tvalid(s_axis_request_tvalid),
        .s_axis_request_tready(s_axis_request_tready), .s_axis_candidate_tdata(candidate_number),
        .s_axis_candidate_tvalid(candidate_valid), .s_axis_candidate_tready(candidate_ready),
        .s_axis_early_tdata(early_number), .s_axis_early_tvalid(early_valid), .s_axis_early_tready(early_ready),
        .m_axis_compared_tdata(m_axis_compared_tdata), .m_axis_compared_tvalid(m_axis_compared_tvalid),
        .m_axis_compared_tready(m_axis_compared_tready), .m_axis_decision_tdata(m_axis_decision_tdata),
        .m_axis_decision_tvalid(m_axis_decision_tvalid), .m_axis_decision_tready(m_axis_decision_tready),
        .m_axis_departure_tdata(m_axis_departure_tdata), .m_axis_departure_tvalid(m_axis_departure_tvalid),
        .m_axis_departure_tready(m_axis_departure_tready),
        .events(events), .events_drawn(events_drawn), .waiting_packets(waiting), .occupied_entries(occupied),
        .average(average));

    for (genvar at = 0; at <= EVENTS; at++) begin : counters
        assign readings[at*32 +: 32] = counter[at];
    end
    assign readings[(EVENTS+1)*32 +: 32] = {16'b0, waiting};
    assign readings[(EVENTS+2)*32 +: 32] = {15'b0, occupied};
    assign readings[(EVENTS+3)*32 +: 32] = average[47:16];

    always_ff @(posedge clk) begin
        for (int at = 0; at < EVENTS; at++) if (events[at]) counter[at] <= counter[at] + 1'b1;
        counter[EVENTS] <= counter[EVENTS] + {28'b0, events_drawn};
        if (core_rst) for (int at = 0; at <= EVENTS; at++) counter[at] <= 32'b0;
    end
endmodule
