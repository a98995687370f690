// 64 random bits a clock: G. Marsaglia's xorshift (Journal of Statistical Software 8(14), 2003, shifts 13, 7, 17), whose
// period is 2^64 - 1. Its numbers can be foreseen by whoever knows one of them: a router seeds it from a secret.
module fairdrop_xorshift (
    input  logic        clk,
    input  logic        seed_write,
    input  logic [63:0] seed,
    input  logic        next,
    output logic [63:0] number
);
    logic [63:0] after13, after7;
    assign after13 = number ^ (number << 13);
    assign after7 = after13 ^ (after13 >> 7);

    always_ff @(posedge clk) begin
        // Zero would stay zero.
        if (seed_write) number <= (seed == 64'b0) ? 64'h9e3779b97f4a7c15 : seed;
        else if (next) number <= after7 ^ (after7 << 17);
    end
endmodule
