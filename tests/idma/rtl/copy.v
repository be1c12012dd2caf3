// A copy engine with an AXI port and a memory behind it, small enough to read: 48 bytes from 0x0FF0 to 0x2000 on 32 bits,
// in bursts of 4 and 8 beats (the source crosses 4 KiB). `+fault=N` plants a bus fault: 1 the second write address is a
// word too far, 2 one write strobe lacks a lane, 3 one data word is damaged. `+dump=FILE` names the dump.
`timescale 1ns/1ns
module copy (
    input  wire        clk_i, rst_ni,
    output reg         axi_ar_valid, input wire axi_ar_ready, output reg [31:0] axi_ar_addr, output reg [7:0] axi_ar_len,
    output wire [2:0]  axi_ar_size, output wire [1:0] axi_ar_burst,
    input  wire        axi_r_valid, output wire axi_r_ready, input wire [31:0] axi_r_data, input wire axi_r_last,
    input  wire [1:0]  axi_r_resp,
    output reg         axi_aw_valid, input wire axi_aw_ready, output reg [31:0] axi_aw_addr, output reg [7:0] axi_aw_len,
    output wire [2:0]  axi_aw_size, output wire [1:0] axi_aw_burst,
    output wire        axi_w_valid, input wire axi_w_ready, output wire [31:0] axi_w_data, output wire [3:0] axi_w_strb,
    output wire        axi_w_last,
    input  wire        axi_b_valid, output wire axi_b_ready, input wire [1:0] axi_b_resp
);
    integer fault;
    reg [31:0] words [0:7];
    reg [3:0]  got, sent;
    reg        second;
    reg [2:0]  state;
    wire [3:0] beats = second ? 4'd8 : 4'd4;
    initial if (!$value$plusargs("fault=%d", fault)) fault = 0;
    assign axi_ar_size = 3'd2, axi_ar_burst = 2'd1, axi_aw_size = 3'd2, axi_aw_burst = 2'd1;
    assign axi_r_ready = state == 1;
    assign axi_w_valid = state == 3;
    assign axi_w_data  = words[sent[2:0]] ^ {31'd0, fault == 3 && second && sent == 5};
    assign axi_w_strb  = fault == 2 && second && sent == 2 ? 4'b1011 : 4'b1111;
    assign axi_w_last  = sent == beats - 1;
    assign axi_b_ready = state == 4;
    always @(posedge clk_i) begin
        if (!rst_ni) begin
            state <= 0; second <= 0; got <= 0; sent <= 0; axi_ar_valid <= 0; axi_aw_valid <= 0;
            axi_ar_addr <= 0; axi_ar_len <= 0; axi_aw_addr <= 0; axi_aw_len <= 0;
        end else case (state)
            0: begin
                axi_ar_valid <= 1; axi_ar_addr <= second ? 32'h1000 : 32'h0FF0; axi_ar_len <= beats - 1;
                if (axi_ar_valid && axi_ar_ready) begin axi_ar_valid <= 0; state <= 1; got <= 0; end
            end
            1: if (axi_r_valid) begin
                words[got[2:0]] <= axi_r_data; got <= got + 1;
                if (axi_r_last) state <= 2;
            end
            2: begin
                axi_aw_valid <= 1; axi_aw_len <= beats - 1;
                axi_aw_addr <= second ? (fault == 1 ? 32'h2014 : 32'h2010) : 32'h2000;
                if (axi_aw_valid && axi_aw_ready) begin axi_aw_valid <= 0; state <= 3; sent <= 0; end
            end
            3: if (axi_w_ready) begin
                sent <= sent + 1;
                if (axi_w_last) state <= 4;
            end
            4: if (axi_b_valid) begin
                if (second) state <= 5; else begin second <= 1; state <= 0; end
            end
            default: ;
        endcase
    end
endmodule

module tb;
    reg clk_i = 0, rst_ni = 0;
    always #5 clk_i = ~clk_i;
    wire ar_v, aw_v, r_r, w_v, w_l, b_r;
    wire [31:0] ar_a, aw_a, w_d;
    wire [7:0] ar_l, aw_l;
    wire [3:0] w_s;
    wire [2:0] s0, s1;
    wire [1:0] b0, b1;
    reg r_v = 0, b_v = 0;
    reg [31:0] at = 0;
    reg [7:0] left = 0;
    reg [1:0] stall = 0;
    wire [31:0] data = {at[7:0] ^ 8'hA5, at[15:8], at[7:0] + 8'd1, at[7:0]};
    copy dut (.clk_i(clk_i), .rst_ni(rst_ni),
        .axi_ar_valid(ar_v), .axi_ar_ready(stall[0]), .axi_ar_addr(ar_a), .axi_ar_len(ar_l), .axi_ar_size(s0), .axi_ar_burst(b0),
        .axi_r_valid(r_v), .axi_r_ready(r_r), .axi_r_data(data), .axi_r_last(left == 0), .axi_r_resp(2'd0),
        .axi_aw_valid(aw_v), .axi_aw_ready(stall[1]), .axi_aw_addr(aw_a), .axi_aw_len(aw_l), .axi_aw_size(s1), .axi_aw_burst(b1),
        .axi_w_valid(w_v), .axi_w_ready(stall != 2), .axi_w_data(w_d), .axi_w_strb(w_s), .axi_w_last(w_l),
        .axi_b_valid(b_v), .axi_b_ready(b_r), .axi_b_resp(2'd0));
    always @(posedge clk_i) begin
        stall <= stall + 1;
        if (ar_v && stall[0]) begin r_v <= 1; at <= ar_a; left <= ar_l; end
        else if (r_v && r_r) begin at <= at + 4; left <= left - 1; if (left == 0) r_v <= 0; end
        if (w_v && stall != 2 && w_l) b_v <= 1;
        else if (b_v && b_r) b_v <= 0;
    end
    reg [1023:0] name;
    initial begin
        if (!$value$plusargs("dump=%s", name)) name = "copy.vcd";
        $dumpfile(name);
        $dumpvars(1, dut);
        #22 rst_ni = 1;
        #900 $finish;
    end
endmodule
