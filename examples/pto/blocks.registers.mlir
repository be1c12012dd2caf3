// Rows of a matrix in blocks of 16, the last block shorter: n_burst is min(16, rows - start).
// dmaverify: assume %rows in 1..4096
// dmaverify: expect proved
func.func @blocks(%x: !pto.ptr<f16, gm>, %y: !pto.ptr<f16, gm>, %rows: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c128 = arith.constant 128 : i64
  %c256 = arith.constant 256 : i64
  %c512 = arith.constant 512 : i64
  %off = arith.constant false
  %buf = pto.castptr %c0 : i64 -> !pto.ptr<f16, ub>
  pto.set_loop_size_outtoub %c1, %c1 : i64, i64
  pto.set_loop_size_ubtoout %c1, %c1 : i64, i64
  scf.for %start = %c0 to %rows step %c16 : i64 {
    %left = arith.subi %rows, %start : i64
    %short = arith.cmpi slt, %left, %c16 : i64
    %n = arith.select %short, %left, %c16 : i64
    %at = arith.muli %start, %c256 : i64
    %from = pto.addptr %x, %at : !pto.ptr<f16, gm> -> !pto.ptr<f16, gm>
    %to = pto.addptr %y, %at : !pto.ptr<f16, gm> -> !pto.ptr<f16, gm>
    pto.copy_gm_to_ubuf %from, %buf, %c0, %n, %c256, %c0, %c0, %off, %c0, %c512, %c256
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.copy_ubuf_to_gm %buf, %to, %c0, %n, %c256, %c0, %c512, %c256
      : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  }
  return
}
