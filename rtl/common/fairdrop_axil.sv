// AXI4-Lite: WRITABLE words of parameters from address 0, then READABLE words that are only read, from address 0x200. A write
// to any other address and a read beyond them get SLVERR. One transfer at a time.
module fairdrop_axil #(
    parameter WRITABLE = 32,
    parameter READABLE = 32
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [9:0]             s_axil_awaddr,
    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [31:0]            s_axil_wdata,
    input  logic [3:0]             s_axil_wstrb,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    output logic [1:0]             s_axil_bresp,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    input  logic [9:0]             s_axil_araddr,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    output logic [31:0]            s_axil_rdata,
    output logic [1:0]             s_axil_rresp,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,
    output logic [WRITABLE*32-1:0] words,
    // The word that was written in this clock.
    output logic                   written,
    output logic [7:0]             written_word,
    input  logic [READABLE*32-1:0] readings
);
    logic [31:0] word [0:WRITABLE-1];
    logic write_now, read_now, write_valid, read_parameter, read_reading;
    logic [7:0] write_word, read_word;

    for (genvar at = 0; at < WRITABLE; at++) begin : flatten
        assign words[at*32 +: 32] = word[at];
    end

    assign write_now = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_awready = write_now;
    assign s_axil_wready = write_now;
    assign write_word = s_axil_awaddr[9:2];
    assign write_valid = write_word < WRITABLE && s_axil_wstrb == 4'hf;

    assign read_now = s_axil_arvalid && !s_axil_rvalid;
    assign s_axil_arready = read_now;
    assign read_word = s_axil_araddr[9:2];
    assign read_parameter = read_word < WRITABLE;
    assign read_reading = read_word >= 8'h80 && read_word < 8'h80 + READABLE;

    always_ff @(posedge clk) begin
        written <= write_now && write_valid;
        written_word <= write_word;
        if (write_now) begin
            if (write_valid) word[write_word] <= s_axil_wdata;
            s_axil_bresp <= write_valid ? 2'b00 : 2'b10;
            s_axil_bvalid <= 1'b1;
        end else if (s_axil_bready) s_axil_bvalid <= 1'b0;
        if (read_now) begin
            s_axil_rdata <= 32'b0;
            if (read_parameter) s_axil_rdata <= word[read_word];
            if (read_reading) s_axil_rdata <= readings[read_word[6:0]*32 +: 32];
            s_axil_rresp <= (read_parameter || read_reading) ? 2'b00 : 2'b10;
            s_axil_rvalid <= 1'b1;
        end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
        if (rst) begin
            s_axil_bvalid <= 1'b0;
            s_axil_rvalid <= 1'b0;
            written <= 1'b0;
            for (int at = 0; at < WRITABLE; at++) word[at] <= 32'b0;
        end
    end
endmodule
