-- A table out of DuckDB, one JSON object a line.
CREATE TABLE traces AS SELECT * FROM read_json('traces.jsonl', columns = {id: 'BIGINT', sample: 'JSON', score: 'DOUBLE'});
COPY traces TO 'traces.parquet';
COPY (SELECT * FROM 'traces.parquet') TO 'out.jsonl' (FORMAT json);
