// Rows of a table by numbers that lie in memory, packed one behind the other.
// dmaverify: expect proved
// dmaverify: gm %out = 96x256xbf16
// broken: nburst(%c1_i64, %c0_i64, %c0_i64) l2_cache_ctl => nburst(%c2_i64, %c512_i64, %c256_i64) l2_cache_ctl => pto/row-overlap
module {
  func.func @gather_rows(%ids: !pto.ptr<i32, gm>, %table: !pto.ptr<bf16, gm>, %out: !pto.ptr<bf16, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c96 = arith.constant 96 : index
    %c256 = arith.constant 256 : index
    %c0_i32 = arith.constant 0 : i32
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c2_i64 = arith.constant 2 : i64
    %c256_i64 = arith.constant 256 : i64
    %c512_i64 = arith.constant 512 : i64
    %row = pto.castptr %c0_i64 : i64 -> !pto.ptr<bf16, ub>
    scf.for %i = %c0 to %c96 step %c1 {
      %id = pto.load_scalar %ids[%i] : !pto.ptr<i32, gm> -> i32
      %live = arith.cmpi sge, %id, %c0_i32 : i32
      scf.if %live {
        %at = arith.index_cast %id : i32 to index
        %skip = arith.muli %at, %c256 : index
        %from = pto.addptr %table, %skip : !pto.ptr<bf16, gm> -> !pto.ptr<bf16, gm>
        pto.mte_gm_ub %from, %row, %c0_i64, %c512_i64 nburst(%c1_i64, %c0_i64, %c0_i64)
          : !pto.ptr<bf16, gm>, !pto.ptr<bf16, ub>, i64, i64, i64, i64, i64
        pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID1"]
        pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID1"]
        %line = arith.muli %i, %c256 : index
        %to = pto.addptr %out, %line : !pto.ptr<bf16, gm> -> !pto.ptr<bf16, gm>
        pto.mte_ub_gm %row, %to, %c512_i64 nburst(%c1_i64, %c0_i64, %c0_i64) l2_cache_ctl(%c0_i64)
          : !pto.ptr<bf16, ub>, !pto.ptr<bf16, gm>, i64, i64, i64, i64, i64
        pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
        pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
      } else {
      }
    } {pto.gather}
    return
  }
}
