// Rows of a matrix in blocks of 16, the last block shorter: n is minsi(16, rows - start).
// dmaverify: assume %rows in 1..4096
// dmaverify: expect proved
func.func @blocks(%x: !pto.ptr<f16, gm>, %y: !pto.ptr<f16, gm>, %rows: i64) {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c256 = arith.constant 256 : i64
  %c512 = arith.constant 512 : i64
  %buf = pto.castptr %c0 : i64 -> !pto.ptr<f16, ub>
  scf.for %start = %c0 to %rows step %c16 : i64 {
    %left = arith.subi %rows, %start : i64
    %n = arith.minsi %left, %c16 : i64
    %at = arith.shli %start, %c8 : i64
    %from = pto.addptr %x, %at : !pto.ptr<f16, gm> -> !pto.ptr<f16, gm>
    %to = pto.addptr %y, %at : !pto.ptr<f16, gm> -> !pto.ptr<f16, gm>
    pto.mte_gm_ub %from, %buf, %c0, %c256 nburst(%n, %c512, %c256)
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.mte_ub_gm %buf, %to, %c256 nburst(%n, %c256, %c512)
      : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  }
  return
}
