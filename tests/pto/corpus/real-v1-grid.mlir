// Every core takes each so-many-th block of 64 by 48 numbers apart into eight columns; registers, i32 counters.
// dmaverify: expect proved
// broken: pto.set_loop1_stride_outtoub %c32_i64, %c2048_i64 => pto.set_loop1_stride_outtoub %c32_i64, %c32_i64 => core/writes-once
// dmaverify: gm %x = 1024x64x48xf32
// dmaverify: gm %y = 1024x48x64xf32
// dmaverify: assume %n in 1..1024
func.func @v1_grid(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: i32) attributes {pto.kernel} {
  %c3072 = arith.constant 3072 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c6_i64 = arith.constant 6 : i64
  %c32_i64 = arith.constant 32 : i64
  %c48_i64 = arith.constant 48 : i64
  %c64_i64 = arith.constant 64 : i64
  %c192_i64 = arith.constant 192 : i64
  %c256_i64 = arith.constant 256 : i64
  %c2048_i64 = arith.constant 2048 : i64
  %false = arith.constant false
  %b = pto.get_block_idx
  %nb = pto.get_block_num
  %bi = arith.trunci %b : i64 to i32
  %ni = arith.trunci %nb : i64 to i32
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
  scf.for %t = %bi to %n step %ni  : i32 {
    %ti = arith.index_cast %t : i32 to index
    %at = arith.muli %ti, %c3072 : index
    %s = pto.addptr %x, %at : <f32, gm> -> <f32, gm>
    %d = pto.addptr %y, %at : <f32, gm> -> <f32, gm>
    // six pieces of eight columns, one below the other
    pto.set_loop_size_outtoub %c6_i64, %c1_i64 : i64, i64
    pto.set_loop1_stride_outtoub %c32_i64, %c2048_i64 : i64, i64
    pto.copy_gm_to_ubuf %s, %u, %c0_i64, %c64_i64, %c32_i64, %c0_i64, %c0_i64, %false, %c0_i64, %c192_i64, %c32_i64
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
    pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
    pto.copy_ubuf_to_gm %u, %d, %c0_i64, %c48_i64, %c256_i64, %c0_i64, %c256_i64, %c256_i64
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
  }
  return
}
