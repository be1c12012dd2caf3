// A [3, 4, 2, 8, 32] f16 tensor whose axes are all strided in GM: two loops in registers, the third in software.
// dmaverify: gm %x = 524288 bytes
// dmaverify: expect proved
func.func @deep(%x: !pto.ptr<f16, gm>, %y: !pto.ptr<f16, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %c512 = arith.constant 512 : i64
  %c1024 = arith.constant 1024 : i64
  %c2048 = arith.constant 2048 : i64
  %c8192 = arith.constant 8192 : i64
  %c12288 = arith.constant 12288 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i3 = arith.constant 3 : index
  %i2048 = arith.constant 2048 : index
  %i32768 = arith.constant 32768 : index
  %off = arith.constant false
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f16, ub>
  pto.set_loop1_stride_outtoub %c2048, %c512 : i64, i64
  pto.set_loop2_stride_outtoub %c8192, %c1024 : i64, i64
  pto.set_loop_size_outtoub %c2, %c4 : i64, i64
  scf.for %k = %i0 to %i3 step %i1 {
    %g = arith.muli %k, %i32768 : index
    %u = arith.muli %k, %i2048 : index
    %from = pto.addptr %x, %g : !pto.ptr<f16, gm> -> !pto.ptr<f16, gm>
    %to = pto.addptr %ub, %u : !pto.ptr<f16, ub> -> !pto.ptr<f16, ub>
    pto.copy_gm_to_ubuf %from, %to, %c0, %c8, %c64, %c0, %c0, %off, %c0, %c128, %c64
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  }
  pto.set_loop_size_outtoub %c1, %c1 : i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.set_loop_size_ubtoout %c1, %c1 : i64, i64
  pto.copy_ubuf_to_gm %ub, %y, %c0, %c1, %c12288, %c0, %c0, %c0
    : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64, i64, i64
  return
}
