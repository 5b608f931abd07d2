-- A session in Neovim: opens a text, and writes what the editor shows as JSON to the file in NCZARR_SEEN.
-- The language server's command is in NCZARR_LSP, its words separated by line ends.
local seen = {}
local client = vim.lsp.start_client({
  name = "nczarr",
  cmd = vim.split(vim.env.NCZARR_LSP, "\n"),
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, client)

local function wait(condition)
  return vim.wait(30000, condition, 20)
end

local function virtual_texts()
  local texts = {}
  for _, namespace in pairs(vim.diagnostic.get_namespaces()) do
    local place = namespace.user_data and namespace.user_data.virt_text_ns
    if place then
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, place, 0, -1, { details = true })) do
        for _, piece in ipairs(mark[4].virt_text or {}) do
          table.insert(texts, piece[1])
        end
      end
    end
  end
  return texts
end

wait(function() return #virtual_texts() > 0 end)
seen.virtual_texts = virtual_texts()
seen.diagnostics = {}
for _, one in ipairs(vim.diagnostic.get(0)) do
  table.insert(seen.diagnostics, { line = one.lnum, column = one.col, code = one.code, message = one.message })
end

-- the hover window on the first variable
vim.fn.search("temp(")
vim.lsp.buf.hover()
local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    end
  end
end
wait(function() return floating() ~= nil end)
seen.hover = floating()

-- mend the text as a user does, and see the mark go
vim.cmd("%s/latt/lat/")
wait(function() return #vim.diagnostic.get(0) == 0 end)
seen.left = #vim.diagnostic.get(0)

-- completion by the function that <C-X><C-O> calls
vim.fn.search("temp:")
local answers = vim.lsp.buf_request_sync(0, "textDocument/definition", vim.lsp.util.make_position_params(), 30000)
for _, answer in pairs(answers or {}) do
  seen.definition = answer.result.range.start.line
end

if vim.lsp.buf.format then
  vim.lsp.buf.format({ timeout_ms = 30000 })
else
  vim.lsp.buf.formatting_sync(nil, 30000)
end
seen.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)

local file = io.open(vim.env.NCZARR_SEEN, "w")
file:write(vim.json and vim.json.encode(seen) or vim.fn.json_encode(seen))
file:close()
vim.lsp.stop_client(client)
vim.wait(5000, function() return #vim.lsp.get_active_clients() == 0 end, 20)
vim.cmd("qa!")
