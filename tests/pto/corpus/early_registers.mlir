// The register form with loops in hardware and padded rows, and the store of ten operands.
// dmaverify: expect proved
// dmaverify: gm %src = 2x4x20xf32
// broken: pto.set_loop1_stride_outtoub %c320_i64, %c384_i64 => pto.set_loop1_stride_outtoub %c320_i64, %c352_i64 => core/writes-once
func.func @early_registers(%src: !pto.ptr<f32, gm>, %dst: !pto.ptr<f32, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c2_i64 = arith.constant 2 : i64
  %c4_i64 = arith.constant 4 : i64
  %c8_i64 = arith.constant 8 : i64
  %c20_i64 = arith.constant 20 : i64
  %c80_i64 = arith.constant 80 : i64
  %c96_i64 = arith.constant 96 : i64
  %c320_i64 = arith.constant 320 : i64
  %c352_i64 = arith.constant 352 : i64
  %c384_i64 = arith.constant 384 : i64
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_mov_pad_val %zero : f32
  pto.set_loop_size_outtoub %c2_i64, %c1_i64 : i64, i64
  pto.set_loop1_stride_outtoub %c320_i64, %c384_i64 : i64, i64
  pto.copy_gm_to_ubuf %src, %ub,
    %c0_i64, %c4_i64, %c80_i64,   // stream, rows, bytes of a row
    %c0_i64, %c4_i64, %true,      // four numbers of padding on the right
    %c0_i64, %c80_i64, %c96_i64
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID7"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID7"]
  pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
  pto.copy_ubuf_to_gm %ub, %dst, %c8_i64, %c20_i64, %c0_i64, %c8_i64, %c80_i64, %c0_i64, %c80_i64, %c96_i64
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64, i64, i64
  return
}
